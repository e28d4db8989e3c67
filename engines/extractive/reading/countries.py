"""Which countries a text names, by their own names, those of their people, or of well-known parts of them."""

import re
from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

_TABLE: Final = """
    america american americans usa u.s. us united-states alabama alaska arizona arkansas california colorado connecticut
    delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan
    minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah
    vermont virginia washington wisconsin wyoming new-york new-jersey new-mexico new-hampshire north-carolina
    south-carolina north-dakota south-dakota rhode-island west-virginia|britain british uk u.k. united-kingdom england
    english scotland scottish wales welsh|india indian|france french|germany german|italy italian|spain spanish|china
    chinese hong-kong|japan japanese|russia russian soviet|canada canadian ontario quebec alberta manitoba saskatchewan
    |australia australian queensland victoria new-south-wales tasmania|ireland irish|netherlands dutch|belgium belgian|
    sweden swedish|norway norwegian|denmark danish|finland finnish|poland polish|hungary hungarian|austria austrian|
    switzerland swiss|greece greek|turkey turkish|iran iranian persian|iraq iraqi|israel israeli|egypt egyptian|mexico
    mexican|brazil brazilian|argentina argentine argentinian|chile chilean|peru peruvian|colombia colombian|venezuela
    venezuelan|cuba cuban|portugal portuguese|romania romanian|bulgaria bulgarian|serbia serbian|croatia croatian|
    ukraine ukrainian|czechia czech czechoslovak czechoslovakia|slovakia slovak|korea korean|taiwan taiwanese|thailand
    thai|vietnam vietnamese|philippines filipino philippine|indonesia indonesian|malaysia malaysian|singapore
    singaporean|pakistan pakistani|bangladesh bangladeshi|nepal nepalese nepali|sri-lanka sri-lankan|nigeria nigerian|
    ghana ghanaian|kenya kenyan|ethiopia ethiopian|south-africa south-african|morocco moroccan|algeria algerian|tunisia
    tunisian|iceland icelandic|estonia estonian|latvia latvian|lithuania lithuanian|georgia georgian|armenia armenian|
    azerbaijan azerbaijani|kazakhstan kazakh|mongolia mongolian|new-zealand new-zealander|uruguay uruguayan|paraguay
    paraguayan|bolivia bolivian|ecuador ecuadorian|lebanon lebanese|syria syrian|jordan jordanian|afghanistan afghan|
    cambodia cambodian|burma burmese myanmar|luxembourg|malta maltese|cyprus cypriot|slovenia slovenian slovene|albania
    albanian|macedonia macedonian|bosnia bosnian|montenegro montenegrin|belarus belarusian|moldova moldovan|jamaica
    jamaican|haiti haitian|senegal senegalese|cameroon cameroonian|uganda ugandan|tanzania tanzanian|zimbabwe
    zimbabwean|zambia zambian|sudan sudanese|libya libyan|somalia somali|yemen yemeni|kuwait kuwaiti|qatar qatari
"""
_COUNTRIES: Final = {word.replace("-", " "): row.split()[0] for row in _TABLE.split("|") for word in row.split()}
_NAME: Final = lazy_pattern(
    r"(?<!\w)(?:" + "|".join(sorted(map(re.escape, _COUNTRIES), key=len, reverse=True)) + r")(?!\w)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Named:
    """A country that `text[start:end]` names."""

    country: str
    start: int
    end: int


def countries(text: str) -> list[Named]:
    """The countries that a text names, in order; words written small are none."""
    return [
        Named(_COUNTRIES[found[0].lower()], *found.span()) for found in _NAME.finditer(text) if found[0][0].isupper()
    ]


def is_country(text: str) -> bool:
    """Whether a text is the name of a country or of its people, and nothing else."""
    return _NAME.fullmatch(text) is not None

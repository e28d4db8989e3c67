"""How people ask, chat, guess, quote, order and report, in English and Chinese: what tells a statement from junk."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

# All of these take time linear in the text (tests/unit/test_linear_time.py). Where a run may be long, it is tried from
# its beginning alone, or never given back, or has a longest.
QUESTION_WORDS: Final = "what|who|whom|whose|which|where|when|why|how"
"""The words by which English asks, for use in a group that ends with a border."""
_CHINESE_QUESTION_WORDS: Final = """
    什么时候 什么时间 什么地方 什么样 什么 为什么 为何 何时 何处 何地 何人 谁 多少 多大 多长 多高 多远 多久 怎么样
    怎么 怎样 如何 哪里 哪儿
"""
CHINESE_QUESTION_WORDS: Final = "|".join(_CHINESE_QUESTION_WORDS.split())
"""The words by which Chinese asks; beside them 哪 and 几 ask in front of what they count."""
ENDS_ASKING: Final = r"(?<!\W)[^\w?？]*+[?？]\W*+$"
"""The end of a text that is nothing but marks, with a question mark among them."""


def _first_of(opening: str, start: str) -> str:
    """A pattern up to where an opening stands first: what follows it follows any later one, which need not be tried."""
    return rf"{start}(?:(?!{opening}).)*+{opening}"


FICTION: Final = lazy_pattern(
    r"\b(?:pretend|imagine|role-?play|act as|you are now|in character|write (?:me )?(?:a|an|the) (?:\w+ ){0,3}"
    r"(?:story|poem|song|letter|essay|speech|scene|dialogue|script|novel|joke|email)|let's say|(?<!\bi )suppose"
    r"|hypothetically)\b"
    r"|假装|扮演|假设|想象一下|写(?:一)?[个篇首封](?:故事|诗|信|小说|作文|文章)",
    re.IGNORECASE,
)
"""A turn that plays or invents something."""
QUESTION: Final = lazy_pattern(
    rf"{ENDS_ASKING}|[吗呢么]\W*+$|可不可以"
    r"|(?<![问問看定管论讲查道清楚])(?<![问問看定管论讲查道清楚][他她它我你])([\u3400-\u9fff])[不没]\1"
)
"""How a question ends."""
ASKS: Final = lazy_pattern(
    r"(?<!\W)\W*+(?:(?:so|and|but|ok|okay|well|also|hey|please|then)\W++){0,6}"
    rf"(?:(?:{QUESTION_WORDS})(?:'s|'re)?"
    r"(?: (?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|much|many|about|come|long|often"
    r"|old))?\b(?!ever)"
    r"|(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|may|shall) (?:i|you|we|they|he|she|it"
    r"|there|this|that|the|my|your)\b"
    r"|(?:please|kindly|tell|show|give|help|let|write|create|make|find|list|explain|describe|translate"
    r"|summari[sz]e|generate|suggest|"
    r"recommend|compare|calculate|draft|fix|convert|rewrite|check|search|look up|add|remove|try|consider|use|book"
    r"|send|open|set|play|run)\b"
    r"(?! sure i\b))",
    re.IGNORECASE,
)
"""How a question or a request begins."""
WANTS: Final = lazy_pattern(
    r"\b(?:i|we)(?:'d| would)? (?:really )?(?:want|need|like|love|prefer)(?: for)? (?:you|your|help|some help"
    r"|advice|to (?:know|ask|understand|see|hear|find out|learn more)"
    r"|a (?:\w+ ){0,2}(?:function|script|summary|list|poem|story|essay|example|program|query|regex|explanation"
    r"|answer|recommendation|suggestion))\b"
    r"|\b(?:i have a question|i was wondering|i'm looking for (?:help|advice|a way|an? example)|can you|could you"
    r"|would you|will you)\b"
    r"|帮我|请(?:你|您|帮|给|告诉|写|翻译|总结)|给我|能不能|可不可以|是否可以|我想(?:知道|问|了解|请)",
    re.IGNORECASE,
)
"""A request, wherever it stands."""
UNSURE: Final = lazy_pattern(
    r"\b(?:thanks|thank you) for (?:being|your|the|all|sharing|everything)\b|\bsounds (?:great|good|like|amazing"
    r"|fun)\b|"
    r"\b(?:if (?:i|we|my|only)|i wish|maybe|perhaps|i guess|i suppose|i bet|i assume|i wonder|i doubt|i'm not sure"
    r"|not sure|i don't (?:know|remember|understand)|"
    r"no idea|i think (?:so|not)|i hope|hopefully|(?:i|we) (?:might|may|could|would|should)(?:'ve| have)?"
    r"|i'd (?:be|say|love|like|have)|what if|as if|probably|"
    r"just kidding|joking|can't wait|let'?s|i mean|you know what)\b"
    r"|如果|要是|假如|也许|可能|大概吧|不确定|不知道|不清楚|希望|但愿|开玩笑|应该会|要不|不如",
    re.IGNORECASE,
)
"""A guess, a wish, a condition, a suggestion."""
SMALL_TALK: Final = lazy_pattern(
    r"\W*(?:(?:oh|wow|aw+|yeah|yep|yes|no|haha|hey|hi|hello|well|ok|okay|great|cool|nice|awesome|sure|absolutely"
    r"|definitely|totally|thanks|thank)\b\W*)*"
    r"(?:i(?:'m| am)(?: so| really| very| just| also| always)* (?:glad|happy for|happy to (?:hear|help|see)"
    r"|proud of you|sorry|sure|excited for you|thrilled for|here for|fine|good|great|ok|okay|"
    r"doing (?:well|good|great|fine|okay)|not bad|all ears|back|done|serious|grateful|thankful|happy"
    r"|excited)\b[^,;]{0,40}\W*$"
    r"|i(?:'m| am) (?:glad|sorry|sure|so sorry|happy for|proud of|here)\b"
    r"|i(?: (?:totally|completely|really|fully|also|do|can|just|definitely|so|truly))* (?:agree|appreciate"
    r"|understand|hear you|see(?=\W*$|[,.;!]| (?:what|how|why|where|that|your|the point)\b)|get it"
    r"|know(?: what| how| that|,|\W*$)|feel you|relate|bet|believe|guess|figured)\b"
    r"|(?:it's|it is|it was|that's|that is|that was|this is) (?:so |really |such |very |always |been )*(?:a "
    r"|an )?(?:great|nice|good|awesome|amazing|wonderful|lovely|cool|fine|true|right|sweet|pleasure"
    r"|fun)\b[^,]{0,30}$"
    r"|(?:good|great|nice|lovely) to (?:see|hear|meet|talk|chat|know)|talk (?:soon|later|to you)|take care"
    r"|have a (?:good|great|nice)|sounds? (?:good|great|like)|same here|me too|no worries|no problem"
    r"|you're welcome|long time no (?:see|talk|chat)\b"
    r"|(?:keep (?:it up|going|up the (?:good|great) work)|way to go|lucky you|stay (?:safe|strong)|have fun|chat soon"
    r"|(?:nice|good|great) (?:one|work|job|going)|you(?:'ve| have)? (?:got (?:this|it)|rock|nailed it|did it)"
    r"|of course|for sure)\b[^,;\w]{0,8}\w{0,10}\W*$"
    r"|you(?:'re| are) (?:so |really |truly |absolutely |the )*(?:awesome|amazing|best|kind|sweet|welcome)\b"
    r"[^,;]{0,12}\W*$"
    r"|(?:you're |so )?(?:agreed|welcome|impressive|exciting|yay|woo+hoo+|enjoy|ttyl)(?: stuff)?\b[^,;]{0,12}\W*$"
    r"|(?:i )?(?:really |truly |so |do )?appreciate (?:it|that|this|you|your|the|all)\b[^,;]{0,40}$"
    r"|(?:your|their) [a-z]+(?: and [a-z]+)?(?: really| truly)? means? (?:a lot|so much|the world)\b[^,;]{0,20}$"
    r"|(?:it|that|this)(?: really| truly)? means (?:a lot|so much)(?: to me)?\W*$"
    r"|(?:(?:it|that|this|they|these)(?: all)? )?(?:sounds?|looks?)(?: so| really| very| just)* (?:amazing|awesome|"
    r"good|great|fun|cool|nice|lovely|wonderful|beautiful|incredible|delicious|fantastic|perfect)\b[^,;]{0,12}\W*$"
    r"|(?:can't|cannot) wait(?: to (?:see|hear)\b[^,;]{0,24})?\W*$|let me know (?:how|if|when|what)\b"
    r"|super (?:excited|stoked)\W*$"
    r"|glad (?:you|to hear)\b|hop(?:e|ing) you(?:'re| are| had| have| like| enjoy)"
    r"|my pleasure|my goodness|my god|bye|see you|catch you|good luck|congrat|happy birthday|merry christmas)",
    re.IGNORECASE,
)
"""A sentence that only keeps a conversation going."""
SMALL_TALK_CHINESE: Final = lazy_pattern(
    r"\W*(?:好的|谢谢|多谢|感谢|不客气|没关系|没事|再见|拜拜|哈哈|嗯|对|是的|明白|我明白|我懂|我同意|我知道了?|我也是|我很好|我没事|太好了|真棒|真好|加油|祝|恭喜|辛苦|抱歉|对不起"
    r"|不好意思|我觉得(?:不错|可以|很好|还行))[^，。]{0,8}\W*$"
)
"""The same in Chinese."""
ADDRESSES: Final = lazy_pattern(r"\b(?:you|your|yours|yourself|u)\b|[你您]", re.IGNORECASE)
"""Words for the one who is spoken to."""
HEARSAY: Final = lazy_pattern(
    r"\b(?:according to|(?:he|she|they|someone|somebody|people|everyone|the \w+|my \w+|[A-Z]\w+) (?:says?|said"
    r"|told|claims?|claimed|thinks?|thought|believes?|"
    r"mentioned|asked|wrote|writes|reported|argued?|insisted|heard)|i (?:read|heard|saw)(?: somewhere| online| in"
    r"| on| that| a (?:post|tweet|article))|apparently|supposedly|rumou?r|"
    r"it says|says that|quote)\b|据说|听说|有人说|[他她]们?(?:说|认为|觉得)|报道|网上说|文章(?:里)?(?:说|提到)|表示",
    re.IGNORECASE,
)
"""What others are said to have said."""
DANGLING: Final = lazy_pattern(
    r"\W*(?:(?:and|but|so|also|plus|yeah|yes|yep|well|oh|because|then|actually)\b\W*)*(?:it|this|that|these|those"
    r"|they|he|she|there|them|him|her|his|their|its)(?:'s|'re|'ll|'d|'ve)?\b"
    r"|\W*(?:而且|但是?|所以|还有|因为|然后)?(?:它|他|她|这|那)",
    re.IGNORECASE,
)
"""A sentence that is understood through the one before."""
REMEMBER: Final = lazy_pattern(
    r"\W*(?:please |pls |can you |could you |also,? |and )*(?:remember|note|keep in mind|don't forget|make a note"
    r"|take note|for (?:the record|future reference)|fyi|just so you know)(?: this| that| down| of)*[,:]?\s+(?=\S)"
    r"|\W*(?:请|帮我)?(?:记住|记得|记下|记一下|别忘了|不要忘记)[，,:：]?\s*(?=\S)",
    re.IGNORECASE,
)
"""The wish that what follows is remembered."""
HOW: Final = lazy_pattern(
    _first_of(r"\b(?:(?<!at )first|firstly|step (?:1|one))\b", r"\A")
    + r".{3,}?\b(?:then|next|second(?:ly)?|after that|finally|step (?:2|two)|lastly)\b|"
    + _first_of(r"(?:首先|第一步|先)", r"\A")
    + r".{2,}?(?:然后|接着|再|最后|第二步|之后)",
    re.IGNORECASE | re.DOTALL,
)
"""Steps in order, in one sentence."""
HOW_OPENS: Final = lazy_pattern(
    r"\b(?:first(?:ly)?|to \w+[^.]{2,60}[,:] (?:first|run|you|i|we))\b|首先|第一步", re.IGNORECASE
)
"""The first of several steps."""
ECHO: Final = lazy_pattern(r"[A-Za-z']{1,15}(?: [A-Za-z']{1,15})?[?!]{1,9}")
"""A word or two of surprise, which ask nothing: "Salads???"."""
SPACED_CHINESE: Final = lazy_pattern(r"(?<=[\u3400-\u9fff0-9]) (?=[\u3400-\u9fff])")
"""Where Chinese is typed with spaces for commas."""
CLAUSE: Final = lazy_pattern(r"(?:(?!\s(?:and|but)\s|(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff]))[^\n,;，；])+")
"""A part of a sentence."""
SENTENCE: Final = lazy_pattern(r"(?:(?![.!?…]\s)[^\n])+[.!?…]*")
"""A sentence, of somebody who begins it with no capital, too."""
OPENING: Final = lazy_pattern(r"^\W*\w+,|\bI(?:'\w+)?(?!\w)")
"""What has a capital and is no name."""
HOW_GOES_ON: Final = lazy_pattern(
    r"\W*(?:and )?(?:then|next|after that|afterwards|second(?:ly)?|third(?:ly)?|finally|lastly|step \w+)\b"
    r"|\W*(?:然后|接着|再|最后|第[二三四五]步|之后)",
    re.IGNORECASE,
)
"""A further step."""
ALWAYS: Final = lazy_pattern(
    _first_of(r"\b(?:i|we) (?:always|usually|never|normally|typically|generally)\b", "^")
    + r".{3,}\b(?:before|after|when(?:ever)?|using|first)\b|"
    + _first_of("我们?(?:总是|通常|一般|每次)", "^")
    + r".{2,}(?:先|再|然后|之前|之后|时)",
    re.IGNORECASE | re.MULTILINE,
)
"""A habit with its order."""
OUTCOME: Final = lazy_pattern(
    r"\b(?:i|we)(?:'ve| have)?(?: (?:just|now|successfully|already|finally|also))* (?:booked|created|sent"
    r"|scheduled|updated|fixed|deployed|installed|cancelled|canceled|"
    r"ordered|reserved|submitted|saved|added|removed|deleted|renamed|moved|migrated|merged|published|set up"
    r"|finished|completed|resolved|restarted|uploaded|changed|configured|"
    r"renewed|paid|registered|transferred|printed|rebooked|refunded|filed|signed)\b"
    r"|\b(?:has|have) been (?:booked|created|sent|scheduled|updated|fixed|deployed|cancelled|ordered|reserved"
    r"|submitted|saved|completed|resolved|changed)\b"
    r"|已经?(?:为您|帮你|给你|成功)?(?:预订|预定|创建|发送|安排|更新|修复|部署|安装|取消|下单|提交|保存|完成|添加|删除|设置)",
    re.IGNORECASE,
)
"""What an assistant has done."""
PROPOSES: Final = lazy_pattern(
    r"\b(?:i (?:can|could|will|would|shall|may|might)|i'll|i'd|you (?:can|could|should|might|may)|would you"
    r"|shall i|let me|do you want|once|if|example|suppose|recommend|suggest)\b|可以|建议|如果|是否|要不要|需要我",
    re.IGNORECASE,
)
"""What it merely could do."""
SINGULAR: Final = lazy_pattern(r"\b(?:i|me|my|mine|myself)\b|我(?!们)|本人", re.IGNORECASE)
"""Words for the one who speaks."""
WE: Final = lazy_pattern(
    r"^\W*(?:(?:and|but|so|also|yes|yeah|well|oh|actually|recently|lately|currently)\W+)*(?:we|our)\b"
    r"(?!'re all\b| all\b| often\b)|^\W*我们"
    r"|\bour (?!lives|life|dreams?|hearts?|own|feelings?|loved|true|minds?|souls?|goals?|passions?|bod(?:y|ies)"
    r"|selves)\w",
    re.IGNORECASE,
)
"""Words for those who speak, where they do not mean everybody."""
BRIEF: Final = lazy_pattern(
    r"\W*(?:(?:also|and|yes|no|well|actually)\W+)*(?:i|we|my \w+|our \w+)(?: (?:also|only|still|usually|currently))?"
    r"(?:'m| am| is| are) (?:allergic|intolerant|diabetic|left-handed|right-handed|colou?r-?blind|deaf|blind"
    r"|pregnant)\b"
    r"|\W*(?:i|we|my \w+|our \w+)(?: (?:also|only|still|usually))?(?: have(?: got)?| has| own| owns"
    r"|'ve got) (?:an?|no|\d+|two|three|four|five|six)\b"
    r"|\W*(?:i|we)(?: (?:also|only|still|usually|don't|never))? (?:speak|play|study|prefer|use|eat|drink|avoid|take) \w"
    r"|\W*我们?(?:对.{1,8}过敏|有[一两二三四五0-9]|养|会说|会弹|学|用)",
    re.IGNORECASE,
)
"""How a short sentence states something of its speaker."""
GOES_ON: Final = lazy_pattern(
    r"(?:[,;]|\band\b|\bbut\b)\s+(?:and |but )?(?=(?:I|my|we|our)\b)|[，；](?=我)", re.IGNORECASE
)
"""Where a sentence goes on about its speaker."""
TRAILING: Final = lazy_pattern(r"(?<![\s,;，；、])(?:[\s,;，；、]|\b(?:and|but)\b)++$")
"""What is left over at the end where a sentence is cut."""
REFUSAL: Final = lazy_pattern(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|afraid)|i can(?:'t|not)|i don't have (?:access|information"
    r"|the ability)|as an ai|as a language model|unfortunately)\b"
    r"|抱歉|无法|我不能|作为(?:一个)?(?:AI|人工智能|语言模型)",
    re.IGNORECASE,
)
"""What an assistant does not do."""
WORKED: Final = lazy_pattern(
    r"\b(?:that|it|this)(?: totally| finally| really)? (?:worked|works|did it|fixed it|solved it|helped"
    r"|did the trick)\b|\bproblem (?:is )?solved\b|(?:成功了|解决了|好了|可以了|搞定)",
    re.IGNORECASE,
)
"""That a way of doing something has worked."""
PAST: Final = lazy_pattern(
    r"\b(?:yesterday|last (?:night|week|weekend|month|year|summer|spring|fall|winter|\w+day)|ago|just (?:got"
    r"|finished|had|came|did|bought|went|started)|this (?:morning|past)|"
    r"(?:i|we) (?:went|did|got|bought|saw|met|took|made|had|finished|completed|visited|attended|joined|started"
    r"|signed|won|lost|passed|gave|found|came|left|ran|"
    r"fixed|built|planted|painted|adopted|celebrated|tried|cooked|baked|watched|played|flew|drove|travell?ed|hiked"
    r"|graduated|applied|broke|wrote|read|spent|booked|ordered))\b"
    r"|昨天|上周|上个?月|去年|前天|刚刚?|今天(?:早上|上午|下午)|了[。！]?$",
    re.IGNORECASE,
)
"""What happened at a time."""
ALWAYS_TRUE: Final = lazy_pattern(
    r"\b(?:allerg\w*|diabet\w*|intoleran\w*|medication|emergency|birthday|anniversary|name is)\b|过敏|糖尿病|生日",
    re.IGNORECASE,
)
"""What matters for long."""

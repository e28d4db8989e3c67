"""No form in which people write down a credential is in the store after `remember`, and nothing else is lost for it."""

import re
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

ENGLISH = [
    ("hunter21", ["My password is hunter21."]),
    ("hunter22", ["password: hunter22"]),
    ("hunter23", ["I changed my password to hunter23 yesterday."]),
    ("hunter24", ["I use hunter24 for everything, it's my password."]),
    ("hunter25", ["I log in as bob with password hunter25."]),
    ("hunter26", ["my pw is hunter26"]),
    ("hunter27", ["My p@ssw0rd is hunter27"]),
    ("hunter28", ["login: bob / hunter28"]),
    ("hunter29", ['{"user": "bob", "password": "hunter29"}']),
    ("hunter30", ["postgres://bob:hunter30@db.example.com:5432/app"]),
    ("hunter31", ["You can log in with hunter31 as the password."]),
    ("swordfish1", ["The secret word is swordfish1."]),
    ("swordfish2", ["Hi", "What is your password?", "swordfish2"]),
    ("swordfish3", ["Hi", "Please enter the password so that I can log in.", "swordfish3"]),
    ("swordfish4", ["What is the password of the wifi?", "It's swordfish4."]),
    ("swordfish5", ["My password is", "OK?", "My wifi password? It's swordfish5."]),
    ("correct horse battery", ["My passphrase is correct horse battery staple"]),
    ("abandon ability able", ["My seed phrase: abandon ability able about above absent absorb abstract"]),
    ("83917", ["The PIN of my card is 83917"]),
    ("77311", ["The code for the front door is 77311."]),
    ("77312", ["I open the garage with 77312."]),
    ("991827", ["I got a code, 991827, to log in to my bank."]),
    ("Fluffy", ["The answer to my security question is Fluffy."]),
    ("4111 1111 1111 1111", ["My Visa is 4111 1111 1111 1111, expires 04/29"]),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", ["Use ghp_16C7e42F292c6912E7710c838347Ae178B4a please"]),
    ("AKIAIOSFODNN7EXAMPLE", ["AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE"]),
    ("sk-ant-api03-aaaabbbbccccdddd", ["My key sk-ant-api03-aaaabbbbccccdddd works"]),
    ("eyJhbGciOiJIUzI1NiJ9", ["The session is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123456"]),
    ("MIIEpAIBAAKCAQEA", ["-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\n-----END RSA PRIVATE KEY-----"]),
    ("Ym9iOmh1bnRlcjI", ["Authorization: Basic Ym9iOmh1bnRlcjI="]),
    ("secrettoken123", ["I set the token secrettoken123 in the header"]),
    ("K9f2-Lm3x-88Qz", ["The licence key of Windows is K9f2-Lm3x-88Qz"]),
]
CHINESE = [
    ("88273645", ["我的密码是88273645"]),
    ("abc13571", ["密码：abc13571"]),
    ("abc13572", ["我的WiFi密码设成了abc13572"]),
    ("abc13573", ["我把密码改成abc13573了"]),
    ("abc13574", ["我用abc13574当密码"]),
    ("abc13575", ["abc13575是我的支付宝密码"]),
    ("abc13576", ["用户名张三，密码abc13576"]),
    ("abc13577", ["你好", "请问您的密码是多少？", "abc13577"]),
    ("abc13578", ["你好", "请输入密码", "abc13578"]),
    ("668811", ["银行卡密码668811"]),
    ("668812", ["我家门锁密码是668812，别告诉别人"]),
    ("668813", ["门禁码是668813"]),
    ("902311", ["验证码902311，请勿泄露"]),
    ("芝麻开门", ["我们的暗号是芝麻开门"]),
]


@pytest.mark.parametrize("ends", [False, True])
def test_no_form_of_a_credential_is_in_the_file_after_it_was_remembered(tmp_path: Path, ends: bool) -> None:
    place = tmp_path / "memories.sqlite"
    store = SqliteRecordStore(place)
    graph = build_remember(stores=RecordStores(store, Encoder(HashEmbeddings())))
    for number, (_, lines) in enumerate([*ENGLISH, *CHINESE]):
        turns = [(("user", "assistant")[place % 2], line) for place, line in enumerate(lines)]
        said: Any = {"messages": [*turns, ("user", f"I live in Quillon{number:02d}.")]}
        graph.invoke({**said, "conversation_id": f"c{number}", "end": ends}, context={"user": "ann"})
    store.close()

    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    written = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+", b"", written)  # a fraction of a second may be anybody's code
    assert [secret for secret, _ in [*ENGLISH, *CHINESE] if secret.encode() in written] == []
    assert all(f"Quillon{number:02d}".encode() in written for number in range(len(ENGLISH) + len(CHINESE)))

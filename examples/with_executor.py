"""Carry out the steps of a run yourself, and decide: `.venv/bin/python examples/with_executor.py`, from the root."""

import sys

from agentic_memory_bank import clear, resume, run

SAID = ["The dome was opened in 2011.", "The dome was opened in 2012.", "In 2012 the dome was opened, in the rain."]

output = run("When was the dome opened?", documents=SAID, thread="dome", execute="outside")
while handed := output.get("pause"):  # a program in any language may stand here: it reads JSON and writes JSON
    claims = [claim for found in handed.get("contradictions", []) for claim in found["claims"]]
    right = [claim["memory"] for claim in claims if "2011" in claim["quote"]]
    verdict = {"winner": right[0], "explanation": "The builder's own records say so."} if right else None
    output = resume("dome", result={"text": "It was 2011.", "verdict": verdict})
for conflict in output["conflicts"]:
    sys.stdout.write(f"{conflict['claims'][conflict['winner']]['quote']} {conflict['explanation']}\n")
sys.stdout.write(output["answer"] + "\n")
clear("dome")

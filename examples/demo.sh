#!/usr/bin/env bash
# Three documents about an observatory that does not exist, one of them Chinese: they disagree on a date and a number.
set -euo pipefail
cd "$(dirname "$0")/.."
question="When did the Meridian Array open, and what is the diameter of its mirror?"
echo "\$ memory-bank ask \"$question\" --context examples/meridian_array"
exec memory-bank ask "$question" --context examples/meridian_array

#!/usr/bin/env bash
# make fuzz [time=30s]: runs all fuzz tests in sequence, because Go runs only one at a time, and compares how
# argument rules and programs in JavaScript and Python read 100,000 arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
while IFS=: read -r file name; do
	package=$(dirname "$file")
	echo "== $package ${name#func }"
	# Go would try for a minute to shorten each input that reaches new code, and run no other meanwhile.
	go test -run '^$' -fuzz "^${name#func }\$" -fuzztime "${1:-30s}" -fuzzminimizetime 10x "./$package" </dev/null || status=1
done < <(grep -r -o --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' app backend config | sort)

DRAWBRIDGE_ROUNDS=${DRAWBRIDGE_ROUNDS:-100} go test -count=1 -v -timeout 30m -run '^TestRulesReadArgumentsAsLanguagesDo$' ./backend/policy || status=1
exit $status

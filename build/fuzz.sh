#!/usr/bin/env bash
# make fuzz [time=30s]: runs all fuzz tests in sequence, because Go runs only one at a time, and compares how
# argument rules and programs in JavaScript and Python read 100,000 arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

grep -rl --include='*_test.go' '^func Fuzz' app backend config | xargs -n 1 dirname | sort -u | while read -r package; do
	grep -h -o '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -c 6- | while read -r name; do
		echo "== $package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-30s}" "./$package"
	done
done

DRAWBRIDGE_ROUNDS=${DRAWBRIDGE_ROUNDS:-100} go test -count=1 -v -timeout 30m -run '^TestRulesReadArgumentsAsLanguagesDo$' ./backend/policy

#!/usr/bin/env bash
# make fuzz [time=30s]: runs all fuzz tests in sequence, because Go runs only one at a time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

grep -rl --include='*_test.go' '^func Fuzz' app backend config | xargs -n 1 dirname | sort -u | while read -r package; do
	grep -h -o '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -c 6- | while read -r name; do
		echo "== $package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-30s}" "./$package"
	done
done

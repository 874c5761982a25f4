// Package policy decides whether a call may proceed and how long it may take.
//
// [Policy.Admit] runs the checks in order: visibility, schema of the arguments, approval, rate
// limit, circuit breaker, concurrency. Each check is one file, but for the limits of size, depth and
// names, which are in policy.go. The rules are compiled when a configuration is applied, not per
// call; admitting a call without rules allocates nothing.
// [Policy.Explain] returns the same decision without counting it as a call.
package policy

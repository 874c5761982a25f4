// Package doctor finds what keeps clients and servers from reaching each other, and suggests a fix
// for each finding.
//
// [Examine] runs the checks and returns findings; [Fix] applies a suggested fix; [Bundle] writes a
// redacted diagnostic bundle. The checks only read. Everything that they start or call is passed
// in by the caller.
package doctor

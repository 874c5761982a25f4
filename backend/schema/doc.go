// Package schema validates values against JSON Schemas from servers: the arguments of tools, their
// structured results, and the answers to forms.
//
// Compile returns a Schema, or nil for a schema that it does not support, and Check returns the
// invalid fields of a value. Schemas are untrusted: they are bounded, nothing is fetched, and a
// schema that cannot be decided exactly refuses nothing. Integers are compared exactly up to 64
// bits. The package never changes a value and keeps no state.
package schema

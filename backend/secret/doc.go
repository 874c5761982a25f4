// Package secret stores tokens and passwords by name in one encrypted file, secrets.json.
//
// [Store] encrypts the file with a key that is in the keyring of the system, or in the private file
// secrets.key if there is no keyring. The header of the file says which of the two. While the
// keyring is locked, its secrets are unavailable ([ErrLocked]); a second key is never created,
// because the values encrypted with the first one would be lost. No function lists values.
package secret

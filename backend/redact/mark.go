package redact

// Mark replaces a secret.
const Mark = "[redacted]"

// CutMark is part of the text that replaces binary data that is too long to be recorded.
const CutMark = " characters not recorded, sha256 "

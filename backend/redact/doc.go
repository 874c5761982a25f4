// Package redact recognizes secrets and removes them. It holds the only lists of names and token
// formats that denote secrets, so that a secret that one output hides is hidden in all of them:
//
//	history, logs, API, metrics   [Text], [AppendJSON], [Values]: "[redacted]"
//	diffs of configuration files  [Lines]: "***"
//	imported and exported servers [Replacer]: a reference to the stored secret
//	diagnostic bundles            [MaskConfig], [Mask], then [Text]: "[masked]"
//
// A secret is recognized in three ways: by the name before it ([NamesSecret]), by its format, such
// as "ghp_…", and by its value, if it is known. The web UI hides secrets in what the user types by
// lists of its own; tests keep them in step (testdata/secret-shapes.json).
//
// Text that a server or a client wrote is searched cautiously, because the history has to stay
// readable. In a configuration file, shorter tokens and more names count. What is handed to other
// people is masked wherever it may be a secret.
package redact

package redact

// Shape is the format of a token, for tests of other packages' outputs.
type Shape struct {
	Prefix string `json:"prefix"`
	Length int    `json:"length"` // after the prefix, at least
	Dots   bool   `json:"dots"`
}

// Shapes returns all formats of tokens except that of private keys.
func Shapes() (all []Shape) {
	for _, p := range secretPatterns {
		if p.prefix != pemPrefix {
			all = append(all, Shape{p.prefix, p.minInText, p.dots})
		}
	}
	return all
}

// SecretNames returns names that denote secrets in every text.
func SecretNames() (all []string) {
	all = append(all, "Authorization", "Set-Cookie", "X-Api-Key", "accessToken", "TOKEN_2", "pwd", "bearer")
	for _, part := range secretParts {
		all = append(all, "my-"+part)
	}
	for _, end := range secretEnds {
		all = append(all, "DB_"+end)
	}
	return all
}

package wire

// EqualJSON reports whether a text is a JSON value, apart from white space between tokens. It
// validates neither, and does not allocate.
func EqualJSON(text string, value []byte) bool {
	i, j, inString := 0, 0, false
	for {
		if !inString {
			for i < len(text) && isSpace(text[i]) {
				i++
			}
			for j < len(value) && isSpace(value[j]) {
				j++
			}
		}
		switch {
		case i == len(text) || j == len(value):
			return i == len(text) && j == len(value)
		case text[i] != value[j]:
			return false
		case inString && text[i] == '\\':
			i, j = i+1, j+1
			if i == len(text) || j == len(value) || text[i] != value[j] {
				return false
			}
		case text[i] == '"':
			inString = !inString
		}
		i, j = i+1, j+1
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

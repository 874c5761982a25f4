package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Naming is the scheme for the public names of tools and prompts in the aggregate view.
type Naming string

// The naming schemes. An empty or unknown Naming is treated as Prefixed.
const (
	Prefixed    Naming = "{server}__{tool}" // the default; valid in every LLM API
	Bare        Naming = "{tool}"           // a name that several servers share is prefixed for all of them
	Colon       Naming = "{server}:{tool}"
	DoubleColon Naming = "{server}::{tool}"
	AtServer    Naming = "{tool}@{server}"
	MCP         Naming = "mcp_{server}_{tool}" // with '_' in the server's id replaced by '-'
)

// MaxPublicName is the maximum length of a public name unless the client's limit differs. Clients
// add a prefix of their own, and LLM APIs allow 64 characters in total.
const MaxPublicName = 46

// hashDigits is the length of the hash in an altered name; hashSuffixLength is the length of the
// whole suffix.
const (
	hashDigits       = 8
	hashSuffixLength = 1 + hashDigits
)

// affixes returns the text before and after the tool's part of a public name. Names split
// unambiguously under each scheme: server prefixes contain neither "__" nor ':' nor '@' and never
// end in '_'.
func (n Naming) affixes(prefix string) (before, after string) {
	switch n {
	case Bare:
		return "", ""
	case Colon:
		return prefix + ":", ""
	case DoubleColon:
		return prefix + "::", ""
	case AtServer:
		return "", "@" + prefix
	case MCP:
		return "mcp_" + strings.ReplaceAll(prefix, "_", "-") + "_", ""
	}
	return prefix + "__", ""
}

// publicName joins the affixes and the tool's name. An altered name ends in a hash of the
// server's id and the tool's name; an unaltered name never looks like that, so the two cannot
// collide. force requests the altered form. round selects another hash after a collision. The
// name exceeds limit only when the affixes and the hash alone do.
func publicName(limit int, before, after, server, tool string, force bool, round int) string {
	room := limit - len(before) - len(after)
	if !force && len(tool) <= room && isPlainName(tool) {
		return before + tool + after
	}
	base := sanitizeName(tool)
	if keep := max(room-hashSuffixLength, 0); len(base) > keep {
		base = base[:keep]
	}
	return before + base + "_" + nameHash(server, tool, round) + after
}

func isPlainName(tool string) bool {
	for i := 0; i < len(tool); i++ {
		if !isNameByte(tool[i]) {
			return false
		}
	}
	return !looksAltered(tool)
}

// looksAltered reports whether tool ends in '_' and hashDigits lower-case hexadecimal digits.
func looksAltered(tool string) bool {
	if len(tool) < hashSuffixLength || tool[len(tool)-hashSuffixLength] != '_' {
		return false
	}
	for _, c := range []byte(tool[len(tool)-hashDigits:]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// sanitizeName replaces each run of bytes that are invalid in a public name with one '_'.
func sanitizeName(tool string) string {
	var b strings.Builder
	for i := 0; i < len(tool); i++ {
		switch c := tool[i]; {
		case isNameByte(c):
			b.WriteByte(c)
		case i == 0 || isNameByte(tool[i-1]):
			b.WriteByte('_')
		}
	}
	return b.String()
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func nameHash(server, tool string, round int) string {
	h := sha256.New()
	h.Write([]byte(server + "\x00" + tool))
	if round > 0 {
		h.Write([]byte("\x00" + strconv.Itoa(round)))
	}
	return hex.EncodeToString(h.Sum(nil)[:hashDigits/2])
}

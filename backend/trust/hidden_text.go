package trust

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// findHiddenText describes the first character in text that hides something, or returns "".
// Legitimate uses are not reported: joiners after letters that need them, flags, and a single
// variation selector.
func findHiddenText(text string) string {
	plain := true
	for i := 0; i < len(text); i++ {
		if text[i] >= 0x80 || text[i] == 0x1B || text[i] == 0x08 || text[i] == 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return ""
	}
	var before rune
	flag, selectors := false, 0
	runes := []rune(text)
	for i, c := range runes {
		kind := core.InvisibleClass(c)
		if kind != "variation" {
			selectors = 0
		}
		switch kind {
		case "tag":
			if !flag {
				return "invisible Unicode tag characters, which models can read: " + decodeTags(runes[i:])
			}
			flag = c != 0xE007F
			continue
		case "direction":
			return fmt.Sprintf("a character that changes the direction of text (U+%04X), so that it is displayed in a different order", c)
		case "zero-width":
			if c == 0xFEFF && i == 0 {
				continue
			}
			return fmt.Sprintf("a zero-width character (U+%04X)", c)
		case "blank letter":
			return fmt.Sprintf("an invisible letter (U+%04X)", c)
		case "terminal control":
			return fmt.Sprintf("a terminal control character (U+%04X)", c)
		case "joiner":
			if before < 0x300 {
				return fmt.Sprintf("a zero-width joiner (U+%04X) where nothing is joined", c)
			}
		case "variation":
			if selectors++; selectors > 1 {
				return "a sequence of variation selectors, which can hide text"
			}
		}
		flag = c == 0x1F3F4 || flag && kind == "tag"
		before = c
	}
	return ""
}

// decodeTags decodes the beginning of a text in tag characters (U+E0000 block) and quotes it.
func decodeTags(runes []rune) string {
	var b strings.Builder
	for _, c := range runes {
		if c >= 0xE0020 && c <= 0xE007E && b.Len() < 80 {
			b.WriteRune(c - 0xE0000)
		}
	}
	return fmt.Sprintf("%q", b.String())
}

// normalize normalizes text for the rules: without invisible characters, with lookalike letters
// replaced by Latin ones, in lower case and with single spaces.
func normalize(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	space := true
	for _, c := range text {
		switch {
		case c >= 0xE0020 && c <= 0xE007E:
			c -= 0xE0000
		case core.InvisibleClass(c) != "":
			continue
		case c >= 0xFF01 && c <= 0xFF5E:
			c -= 0xFEE0
		case c == 0x2019, c == 0x2018, c == 0x02BC:
			c = '\''
		case c > 0x7F:
			if like, ok := core.Lookalikes[c]; ok {
				c = like
			}
		}
		if unicode.IsSpace(c) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// mixesAlphabets reports whether a word contains both Latin letters and letters of other alphabets
// that look like them.
func mixesAlphabets(word string) bool {
	latin, other := false, false
	for _, c := range word {
		if c < 0x80 && unicode.IsLetter(c) {
			latin = true
		} else if _, ok := core.Lookalikes[c]; ok {
			other = true
		}
	}
	return latin && other
}

// prefilterWords is parallel to rules. A text must contain one of the words of a rule before its
// pattern is tried, because a word search costs about a hundredth of a pattern match. A rule with
// nil is always tried.
var prefilterWords = []([]string){
	splitWords("not |n't|dont|never|without|no need|avoid|refrain"),
	splitWords("not |n't|never"),
	splitWords("keep|hide|conceal|mask"),
	splitWords("silent|secret|covert|quiet|discreet|behind the"),
	splitWords("user"),
	splitWords("user|usuario|nutzer|utilisateur|告|通|让"),
	splitWords(".ssh|id_rsa|id_ed|/etc/|.aws|.git-c|.netrc|.npmrc|.pypirc|.kube|.docker|.cursor|mcp.json|claude_desktop|_history|.gnupg|wallet|keychain|cookies|/proc/"),
	splitWords("conversation|chat|history|prompt|env|api|token|credential|password|key|secret|messages|dialog|context"),
	splitWords("conversation|chat|history|prompt|env|api|token|credential|password|key|secret|messages|dialog|context"),
	splitWords("conversation|chat|dialog|messages|prompt|context w|transcript"),
	splitWords("prompt|conversation|chat|messages|all |every"),
	splitWords("curl|wget|iwr|invoke-w|base64|nc -e|/dev/tcp|chmod|bash|powershell|rm -rf|command"),
	splitWords("tool|function"),
	splitWords("tool|function|server"),
	splitWords("tool|function|server"),
	splitWords(" called| used|invoked| run|executed|available|present|requested"),
	splitWords("behavi|usage|recipient|argument|parameter|output|result"),
	splitWords("ignore|disregard|forget|override|bypass|discard|set aside|you are |instruction|directive|prompt|mode|act as|jailbreak|忽略|无视"),
	splitWords("<|[|###"),
	splitWords("confirm|approv|consent|permission|review|authori|agreed"),
	splitWords("<!--|<span|<div|<p"),
	splitWords("@|http|0.|1.|2.|3.|4.|5.|6.|7.|8.|9."),
	splitWords("dns|image|pixel|webhook|query|gist|pastebin|!["),
}

func splitWords(list string) []string { return strings.Split(list, "|") }

// mayMatch reports whether the pattern of rule n can match text.
func mayMatch(n int, text string) bool {
	if n >= len(prefilterWords) || prefilterWords[n] == nil {
		return true
	}
	for _, w := range prefilterWords[n] {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

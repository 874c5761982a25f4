package trust

import "strings"

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

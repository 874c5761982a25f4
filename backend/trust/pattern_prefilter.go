package trust

import "strings"

// needs is parallel to rules. A text must contain one of the words of a rule before its pattern is
// tried, because a word search costs about a hundredth of a pattern match. A rule with nil is
// always tried.
var needs = []([]string){
	words("not |n't|dont|never|without|no need|avoid|refrain"),
	words("not |n't|never"),
	words("keep|hide|conceal|mask"),
	words("silent|secret|covert|quiet|discreet|behind the"),
	words("user"),
	words("user|usuario|nutzer|utilisateur|告|通|让"),
	words(".ssh|id_rsa|id_ed|/etc/|.aws|.git-c|.netrc|.npmrc|.pypirc|.kube|.docker|.cursor|mcp.json|claude_desktop|_history|.gnupg|wallet|keychain|cookies|/proc/"),
	words("conversation|chat|history|prompt|env|api|token|credential|password|key|secret|messages|dialog|context"),
	words("conversation|chat|history|prompt|env|api|token|credential|password|key|secret|messages|dialog|context"),
	words("conversation|chat|dialog|messages|prompt|context w|transcript"),
	words("prompt|conversation|chat|messages|all |every"),
	words("curl|wget|iwr|invoke-w|base64|nc -e|/dev/tcp|chmod|bash|powershell|rm -rf|command"),
	words("tool|function"),
	words("tool|function|server"),
	words("tool|function|server"),
	words(" called| used|invoked| run|executed|available|present|requested"),
	words("behavi|usage|recipient|argument|parameter|output|result"),
	words("ignore|disregard|forget|override|bypass|discard|set aside|you are |instruction|directive|prompt|mode|act as|jailbreak|忽略|无视"),
	words("<|[|###"),
	words("confirm|approv|consent|permission|review|authori|agreed"),
	words("<!--|<span|<div|<p"),
	words("@|http|0.|1.|2.|3.|4.|5.|6.|7.|8.|9."),
	words("dns|image|pixel|webhook|query|gist|pastebin|!["),
}

func words(list string) []string { return strings.Split(list, "|") }

// couldMatch reports whether the pattern of rule n can match text.
func couldMatch(n int, text string) bool {
	if n >= len(needs) || needs[n] == nil {
		return true
	}
	for _, w := range needs[n] {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Warning is a possible sign of an attack in a definition.
type Warning struct {
	Code   string `json:"code" enum:"hidden-text,hides-from-user,reads-files,commands,other-tools,overrides,sends-away,shadowing,lookalike,encoded,same-name"`
	Reason string `json:"reason"` // one sentence
	Where  string `json:"where"`  // path of the member, such as "inputSchema.properties.path.description"
	Quote  string `json:"quote"`  // the matching text with some context, escaped by Visible
}

// Values of Warning.Code. SameName is a remark that often has a harmless reason.
const (
	HiddenText    = "hidden-text"
	HidesFromUser = "hides-from-user"
	ReadsFiles    = "reads-files"
	RunsCommands  = "commands"
	OtherTools    = "other-tools"
	Overrides     = "overrides"
	SendsAway     = "sends-away"
	Shadowing     = "shadowing"
	Lookalike     = "lookalike"
	Encoded       = "encoded"
	SameName      = "same-name"
)

// rule is a pattern for normalized text. Patterns match instructions to the model, not single
// words: the descriptions of harmless tools often mention secrets, files and users.
type rule struct {
	code, reason string
	pattern      *regexp.Regexp
	exception    *regexp.Regexp // pattern in or just before the match that makes it harmless
}

const (
	peoplePattern      = `(the |this |any |your )?(end[- ]?)?(user|users|human|person|operator|anyone|anybody|customer|owner|them|him|her)\b`
	secretFilePattern  = `(~?/?\.ssh\b|id_rsa|id_ed25519|/etc/(passwd|shadow)|~?/?\.aws/|\.git-credentials|\.netrc|\.npmrc|\.pypirc|\.kube/config|\.docker/config\.json|\.cursor/|mcp\.json|claude_desktop_config|\.bash_history|\.zsh_history|\.gnupg|wallet\.dat|keychain|login\.keychain|cookies\.sqlite|/proc/self/environ)`
	privateDataPattern = `(conversation|chat|message|prompt|session) (history|log|context|transcript)|(whole|entire|full|complete|previous|prior|all) (of )?(the |your |our )?(conversation|chat|dialog(ue)?|messages|context window|prompts?)|system (prompt|message|instructions)|(environment|env) variables?|env vars|api[- ]?keys?|access tokens?|credentials|passwords?|private keys?|ssh keys?|secrets?|\.env( file)?\b`
)

// rules are compiled on first use, because the shim and the watchdog, which are the same program,
// never scan a definition.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		// Hiding something from the user.
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`\b(do not|don't|dont|never|must not|should not|shouldn't|mustn't|without|no need to|avoid|refrain from) (ever |explicitly |directly |also )?(tell(ing)?|inform(ing)?|mention(ing)?|notif(y|ying)|reveal(ing)?|disclos(e|ing)|alert(ing)?|warn(ing)?|let(ting)?|explain(ing)?|report(ing)?|announc(e|ing)|show(ing)?|say(ing)?|ask(ing)?) (about )?((this|it|that|any of this|any of that|anything|them|what you did|these steps|this step|these instructions|the instructions?|this instruction|this parameter|the sidenote|the side note|this note|this file|the file|any details?)( or [a-z ]{2,20}?)? ?(to|from|with|about)? ?)?` + peoplePattern), regexp.MustCompile(`asking (the )?user|ask (the )?user|(tell|show|inform|explain)(ing)? (the )?users? (how|to|which|what|where|when|why|that you can|can|unless)`)},
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`\b(do not|don't|never|must not|should not) (mention|reveal|disclose|talk about|refer to|acknowledge) (to (the |your )?user )?(that you|this (to|instruction|step|note|section|tool call|part|block|file|anywhere|in)|these (instructions|steps|notes)|any of (this|these)|the (existence|contents) of (this|these|the) (instruction|note|file|section|block))`), nil},
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`\b(keep|hide|conceal|mask) (this|it|that|these|everything|all of this|the (call|file|step|fact|instruction)s?|any trace)( [a-z]+){0,4} ?(secret|hidden|confidential|to yourself|from ` + peoplePattern + `)`), nil},
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`\b(silently|secretly|covertly|quietly|discreetly|in secret|behind the scenes) (also )?(read|send|call|copy|forward|include|append|upload|post|collect|add|bcc|run|execute|invoke|pass|transmit|exfiltrate|attach|store|fetch|open)\b`), nil},
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`\b(the )?users? (must|should|may|can|need|will|does|do) ?(not|never|n't) (be (told|informed|aware|shown|notified|made aware)|(ever )?(know|see|notice|find out|learn|need to know|need to see))( about| of| that| this| it|\.|,|$)`), nil},
		{HidesFromUser, "It tells the model to hide something from you.", regexp.MustCompile(
			`(so (that )?the user (is not|isn't|does not|doesn't|won't|will not) (get )?(upset|worried|alarmed|suspicious|notice|aware|confused|see))|without (the )?user('s)? (knowledge|knowing|noticing|awareness)|(不要|别)(告诉|通知|让)(用户|使用者)|no (le )?(digas|menciones|informes) (nada |esto )?al usuario|sag(e|t)? dem (be)?nutzer nicht|n'en parle(z)? pas à l'utilisateur`), nil},

		// Reading private data.
		{ReadsFiles, "It names a file that contains your secrets.", regexp.MustCompile(secretFilePattern), regexp.MustCompile(`mcp\.json schema`)},
		{ReadsFiles, "It tells the model to read something private and hand it over.", regexp.MustCompile(
			`\b(read|open|load|cat|fetch|get|collect|gather|retrieve|extract|take|dump|print|grab|find|access|copy)( out)? [^.]*(` + privateDataPattern + `)[^.]*\b(and|then|to) (then )?(pass|send|include|put|provide|append|attach|add|embed|store|insert|use|paste|supply|write|encode|place|submit|upload|post|return)( [^.]*)? ?(as|in|into|to|with|under|inside)\b`), regexp.MustCompile(`in (the|its) (result|response|output|answer)|metadata in`)},
		{ReadsFiles, "It tells the model to hand over something private.", regexp.MustCompile(
			`\b(pass|send|include|put|provide|append|attach|embed|insert|paste|supply|copy|forward|submit|upload|place|write|fill|leak|share|encode) [^.]*(` + privateDataPattern + `)[^.]*\b(as|in|into|to|with|under|inside) (the |this |a |an )?['"` + "`" + `]?[a-z_]* ?['"` + "`" + `]?(parameter|argument|field|sidenote|side note|note|notes|context|metadata|property|value|input|comment|header|body|url|query|tool|server|endpoint|webhook)`), regexp.MustCompile(`(do not|don't|never|must not|should not|avoid|without|authorization|cannot) [^.]*$`)},
		{ReadsFiles, "It asks for the conversation or the system prompt.", regexp.MustCompile(
			`\b(must|always|should|required to|need to|please|you have to|make sure to|be sure to|first)\b[^.]*\b(pass|send|include|put|provide|append|attach|embed|insert|paste|supply|copy|forward|fill|contain|hold|repeat)[^.]*((whole|entire|full|complete|verbatim|all( of)?( the)?|previous|prior) ?(the |your |our |of )?(the )?(conversation|chat|dialog(ue)?|messages|system prompt|context window|prompts?)|system prompt|(conversation|chat|message) (history|log|transcript))`), nil},
		{ReadsFiles, "A parameter asks for the conversation or the system prompt.", regexp.MustCompile(
			`^(the )?(whole|entire|full|complete|verbatim) (content of |contents of |text of )?(the |your )?(system prompt|conversation|chat|dialogue|messages)\b|\b(list|content|contents|names) of (all|every) (of )?(your )?(available )?(tools|secrets|credentials|api keys|environment variables)( and their| you (have|know)|$)`), nil},

		// Commands.
		{RunsCommands, "It tells the model to run a command.", regexp.MustCompile(
			`(curl|wget|iwr|invoke-webrequest)\b[^|\n]{0,120}\| ?(sudo )?(ba|z|da)?sh\b|/dev/tcp/|\b(base64 (-d|--decode)|nc -e|chmod \+x|bash -c|powershell (-enc|-e |-nop)|rm -rf [~/])|\b(first|must|always|before)\b[^.]*\b(run|execute) (the |this |following |these )*(shell |terminal |bash |system )?commands?:? ?['"` + "`" + `]?(curl|wget|cat|env|printenv|nc|scp|ssh|sh|bash|python|node|npx|rm|chmod)\b`), nil},

		// Interfering with other tools.
		{OtherTools, "It tells the model what to do with other tools.", regexp.MustCompile(
			`\b(before|after) (each|every|any) tool calls?\b|\b(each|every|any) time (you )(use|call|invoke|run) (a|any|another) (other )?(tool|function)\b|\b(before|prior to|after|whenever|when|each time|every time|any time) (you )?(are )?(us(e|ing)|call(ing)?|invok(e|ing)|execut(e|ing)|run(ning)?) (any|all|every|each)( of)?( the)?( other)?( available)? ?(tools?|functions?|mcp tools?)\b(,| you| must| always| first|\.|$)?`), regexp.MustCompile(`tools? (in|from|of) this (server|mcp)|these tools`)},
		{OtherTools, "It tells the model what to do with other tools.", regexp.MustCompile(
			`\b(call|use|invoke|run)(ed)? (this|it|this tool|this function|me) (first|before|instead of|in place of|rather than|prior to)[^.]*\b(any|all|every|each|other)( of)?( the)?( other)?( available)?( [a-z-]+)? ?(tools?|functions?|servers?)\b`), regexp.MustCompile(`(tools? (in|from|of) this (server|mcp))`)},
		{OtherTools, "It tells the model not to use other tools.", regexp.MustCompile(
			`\b(do not|don't|never|stop|must not|avoid) (us(e|ing)|call(ing)?|invok(e|ing)|trust(ing)?) (any |all |the )?(other|remaining|built-?in|different|another)( available| mcp)? ?(tools?|servers?|functions?)( anymore| any more|\.|,|$| for| because| as| since| at| again)|\b(all |any |every )?other (tools?|servers?|functions?) (is|are|has been|have been|was|were) (deprecated|disabled|broken|unsafe|obsolete|insecure|compromised|removed|unavailable|outdated|malicious)|\b(replaces|supersedes|overrides|takes precedence over|has priority over|takes priority over) (all|any|every|other|the other|all other|any other) (other )?(available )?(tools?|servers?|functions?)`), nil},
		{OtherTools, "It tells the model how to use another tool.", regexp.MustCompile(
			`\b(when(ever)?|if|every time|each time|once|after|before) (the |any |another |some )?[a-z0-9_./-]*[_-][a-z0-9_.-]+ (tool )?(is|gets|was|has been|are) (called|used|invoked|run|executed|available|present|requested)\b[^.]*\b(must|always|should|change|replace|send|add|include|instead|redirect|forward|set|modify|bcc|append|need to)`), nil},
		{OtherTools, "It tells the model how to use another tool.", regexp.MustCompile(
			`\b(the |any )?(behaviou?r|usage|recipient|recipients|arguments?|parameters?|output|results?) of (the )?([a-z0-9_.-]+ tool|other tools?|another tool|any other tool|[a-z0-9]+_[a-z0-9_]+)\b[^.]*\b(must|should|has to|have to|needs? to|always|is to|are to|must be|change|replace)`), nil},

		// Overriding instructions.
		{Overrides, "It tells the model to ignore its instructions.", regexp.MustCompile(
			`\b(ignore|disregard|forget|override|bypass|discard|set aside) (all |any |every |the |your |my )*(of the |of your )?(previous|prior|above|earlier|preceding|existing|original|former|other|system|safety|user's?|current|default|security)[ -]?(and [a-z]+ )?(instructions?|rules?|prompts?|guidelines?|directions?|messages?|polic(y|ies)|restrictions?|guardrails|constraints|warnings?|confirmations?)|\byou are (now|no longer) (a|an|in|bound|the|restricted|dan)\b|\b(new|updated|real|actual|true|hidden|secret) (system )?(instructions?|directives?|prompt)( for (you|the (model|assistant|ai|agent)))?( are|:| follow)|\b(system|admin|developer|root|god|maintenance|debug|jailbreak) (override|mode (enabled|activated|on|is on))|\bact as if\b[^.]*\b(no (rules|restrictions|guidelines)|approved|authori[sz]ed)|\bjailbreak|(忽略|无视)(之前|以上|所有|先前)的?(所有)?(指令|指示|规则)`), nil},
		{Overrides, "It contains a block that looks like an instruction to the model.", regexp.MustCompile(
			`<\/?(important|system|secret|hidden|critical|mandatory|urgent|priority|assistant|admin|override|internal|instruction to (the )?(ai|model)|im_start|im_end|\|im_start\||\|im_end\||sys|inst)( [a-z]+="?[^>]*)?>|\[\/?(inst|system|sys|important|hidden|admin)\]|<\|(im_start|im_end|system|endoftext)\|>|<<sys>>|(^| )### ?(system|instruction|new instructions?|hidden|assistant|human):?( |$)`), nil},
		{Overrides, "It tells the model to proceed without your consent.", regexp.MustCompile(
			`\b(without|no need (for|to)|do not|don't|never|skip|bypass|avoid) (any |the |waiting |wait |for |ask(ing)? |request(ing)? |requir(e|ing) |get(ting)? )*(the )?(user('s)? |human |explicit |further |additional |prior |manual )+(for )?(confirmation|approval|consent|permission|review)|\b(user|human) (has|have) (already )?(approved|consented to|authori[sz]ed|agreed to) (this|all|every|any|everything)|\bauto[- ]?(approve|accept|confirm) (this|all|every|any)\b`), regexp.MustCompile(`(do not|don't|never) (execut|run|delet|call|us|proceed|send|appl|modif)|(never|do not|don't) skip|(never|don't|do not) bypass|(never|don't|do not) [a-z ]*without`)},
		{HiddenText, "It contains a comment or an element that is hidden when displayed as HTML.", regexp.MustCompile(`<!--.{12,}?-->|<(span|div|p)[^>]*(display: ?none|font-size: ?0|visibility: ?hidden|color: ?(white|#fff))`), nil},

		// Sending data to third parties.
		{SendsAway, "It tells the model to send something to an address.", regexp.MustCompile(
			`\b(must|always|should|also|first|then|please|needs? to|have to|make sure|be sure|automatically|every|all|and) (be )?([a-z]+ ){0,3}(send|sent|forward(ed)?|bcc('?d)?|cc('?d)?|copy|copied|e-?mail(ed)?|post(ed)?|upload(ed)?|report(ed)?|transmit(ted)?|exfiltrat(e|ed)|redirect(ed)?|proxied|routed|go|replaced?|changed?|set) [^.]*\b(to|at|via|through|with|by) [^ ]{0,20}([a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]{2,}|https?://[a-z0-9.-]+|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})`), regexp.MustCompile(`example\.(com|org|net)|localhost|127\.0\.0\.1|user@|e\.g\.`)},
		{SendsAway, "It tells the model to send something to an address.", regexp.MustCompile(
			`\b(attach|append|add|include|encode|embed|put|smuggle|leak|exfiltrat(e|ing)) [^.]*(in|into|to|as|via|through) (a |the )?(dns (query|lookup|request)|image url|markdown image|tracking pixel|webhook|query string|pastebin|gist)|!\[[^\]]*\]\(https?://[^)]{0,80}[?&=][^)]{0,40}(\{|\$|%7b|data|q=|c=|d=|token|secret)`), nil},
	}
})

// encodedData matches a long run of characters that looks like encoded data.
var encodedData = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9+/_-]{160,}={0,2}`) })

// Limits of the scan of one definition.
const (
	maxScanned   = 256 << 10 // bytes of one text
	maxTexts     = 2000
	maxWarnings  = 8
	quoteAround  = 40
	maxQuote     = 240
	maxMentions  = 32
	whiteColumns = 100 // consecutive spaces that push text out of sight
	whiteRows    = 25  // consecutive line breaks that push text out of sight
)

// Scan returns the warnings about one definition that do not depend on other definitions, at most
// maxWarnings.
func Scan(name string, definition []byte) []Warning {
	s := scanner{}
	s.lookalike("name", name)
	s.walk(definition)
	return s.warnings
}

type scanner struct {
	warnings []Warning
	texts    int
	codes    map[string]bool
}

func (s *scanner) add(code, reason, where, quote string) {
	key := code + where
	if len(s.warnings) == maxWarnings || s.codes[key] {
		return
	}
	if s.codes == nil {
		s.codes = map[string]bool{}
	}
	s.codes[key] = true
	s.warnings = append(s.warnings, Warning{code, reason, where, quote})
}

// walk scans every string of a definition. Descriptions anywhere in a schema are shown to the
// model, and so are names, defaults and enums.
func (s *scanner) walk(definition []byte) {
	var value any
	if core.DecodeJSON(definition, &value) != nil {
		s.text("text", string(definition))
		return
	}
	s.value("", value, 0)
}

func (s *scanner) value(path string, value any, depth int) {
	if s.texts >= maxTexts || depth > maxNesting {
		return
	}
	switch v := value.(type) {
	case string:
		if path == "" {
			path = "text"
		}
		s.text(path, v)
	case []any:
		for _, one := range v {
			s.value(path, one, depth+1)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			at := key
			if path != "" {
				at = path + "." + key
			}
			if depth > 0 {
				s.key(at, key)
			}
			s.value(at, v[key], depth+1)
		}
	}
}

// key scans the name of a parameter.
func (s *scanner) key(path, key string) {
	if hidden := findHiddenText(key); hidden != "" {
		s.add(HiddenText, "Its parameters contain "+hidden+".", core.Visible(path), excerpt(key, 0, len(key)))
	}
	s.lookalike(path, key)
	if len(key) > 60 { // a sentence instead of a name
		s.match(path, strings.NewReplacer("_", " ", "-", " ").Replace(key))
	}
}

func (s *scanner) lookalike(path, word string) {
	if mixesAlphabets(word) {
		s.add(Lookalike, "Its name mixes look-alike letters from two alphabets.", core.Visible(path), core.Visible(word))
	}
}

func (s *scanner) text(path, text string) {
	s.texts++
	text = text[:min(len(text), maxScanned)]
	if hidden := findHiddenText(text); hidden != "" {
		s.add(HiddenText, "It contains "+hidden+".", core.Visible(path), "")
	}
	if at, ok := findOffscreenText(text); ok {
		s.add(HiddenText, "Its text continues after a long run of white space, where it is out of sight.", core.Visible(path), excerpt(text, at, min(len(text), at+maxQuote)))
	}
	if strings.HasSuffix(path, "description") || path == "title" || path == "text" {
		if m := encodedData().FindStringIndex(text); m != nil && !strings.Contains(text[max(0, m[0]-60):m[0]], "://") && distinctChars(text[m[0]:m[1]]) > 12 {
			s.add(Encoded, "It contains a long block of encoded text.", core.Visible(path), excerpt(text, m[0], min(m[1], m[0]+40)))
		}
		for _, word := range strings.Fields(text) {
			if mixesAlphabets(strings.Trim(word, ".,;:!?()\"'`")) {
				s.add(Lookalike, "A word mixes look-alike letters from two alphabets.", core.Visible(path), core.Visible(word))
				break
			}
		}
	}
	s.match(path, text)
}

func distinctChars(text string) int {
	seen := map[rune]bool{}
	for _, c := range text {
		seen[c] = true
	}
	return len(seen)
}

func (s *scanner) match(path, text string) {
	if len(text) < 12 {
		return
	}
	plain := normalize(text)
	all := rules()
	for i := range all {
		if !mayMatch(i, plain) {
			continue
		}
		r := &all[i]
		for _, m := range r.pattern.FindAllStringIndex(plain, 4) {
			if r.exception != nil && (r.exception.MatchString(plain[m[0]:m[1]]) || r.exception.MatchString(plain[max(0, m[0]-50):m[1]])) {
				continue
			}
			s.add(r.code, r.reason, core.Visible(path), excerpt(plain, m[0], m[1]))
			break
		}
	}
}

// findOffscreenText finds text that is preceded by so much white space that it is out of sight, and
// returns its index.
func findOffscreenText(text string) (at int, ok bool) {
	columns, rows := 0, 0
	for i, c := range text {
		switch {
		case c == '\n':
			rows, columns = rows+1, 0
		case unicode.IsSpace(c):
			columns++
		default:
			if i > 0 && (columns >= whiteColumns || rows >= whiteRows) {
				return i, true
			}
			columns, rows = 0, 0
		}
	}
	return 0, false
}

func excerpt(text string, from, to int) string {
	start, end := max(0, from-quoteAround), min(len(text), to+quoteAround)
	out := strings.ToValidUTF8(text[start:end], "")
	if start > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return core.Visible(strings.Join(strings.Fields(core.Shorten(out, maxQuote)), " "))
}

// toolNamePattern matches words in a sentence that can be the name of a tool.
var toolNamePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:[_-]+[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|['"` + "`" + `][A-Za-z][A-Za-z0-9]{1,40}['"` + "`" + `] (?:tool|function)|(?:tool|function) ['"` + "`" + `][A-Za-z][A-Za-z0-9]{1,40}['"` + "`" + `]`)
})

// mentionedTools returns the words in a definition's descriptions that can be names of tools, at
// most maxMentions.
func mentionedTools(definition []byte) []string {
	var value any
	if json.Unmarshal(definition, &value) != nil {
		value = string(definition)
	}
	seen, list := map[string]bool{}, []string(nil)
	var walk func(key string, value any, depth int)
	walk = func(key string, value any, depth int) {
		switch v := value.(type) {
		case string:
			if key != "description" && key != "" {
				return
			}
			for _, w := range toolNamePattern().FindAllString(v[:min(len(v), maxScanned)], 4*maxMentions) {
				w = strings.Trim(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(w, "tool "), "function "), " tool"), " function"), "'\"`")
				if !seen[w] && len(list) < maxMentions {
					seen[w] = true
					list = append(list, w)
				}
			}
		case []any:
			for _, one := range v {
				walk(key, one, depth+1)
			}
		case map[string]any:
			if depth < maxNesting {
				for _, k := range sortedKeys(v) {
					walk(k, v[k], depth+1)
				}
			}
		}
	}
	walk("", value, 0)
	return list
}

func shadowingWarning(tool, server string) Warning {
	return Warning{Shadowing, fmt.Sprintf("It mentions %q, a tool on your server %q. A description should not refer to tools on other servers.", tool, server), "description", core.Visible(tool)}
}

func sameNameWarning(server string) Warning {
	return Warning{SameName, fmt.Sprintf("Your server %q also has a tool with this name.", server), "name", ""}
}

// scanQueued scans the queued definitions. It runs in the goroutine of Run, so that no server waits
// for it.
func (b *Baseline) scanQueued(ctx context.Context) {
	b.mu.Lock()
	jobs := b.scanQueue
	b.scanQueue = nil
	b.mu.Unlock()
	fresh := map[string]bool{}
	for _, j := range jobs {
		if ctx.Err() != nil {
			return
		}
		warnings := Scan(j.key.name, j.raw)
		named := mentionedTools(j.raw)
		b.mu.Lock()
		b.storeWarnings(j, warnings, named)
		b.mu.Unlock()
		if j.fresh {
			fresh[j.server] = true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.updateShadowing(fresh)
}

// storeWarnings stores the result of a scan, unless the definition has changed in the meantime. The
// caller must hold b.mu.
func (b *Baseline) storeWarnings(j scanJob, warnings []Warning, named []string) {
	s := b.servers[j.server]
	if s == nil {
		return // removed in the meantime
	}
	it := s.items[j.key]
	if it == nil {
		return
	}
	switch {
	case it.hash == j.hash:
		it.scannedHash, it.warnings, it.mentions = j.hash, warnings, named
	case it.pending != nil && it.pending.hash == j.hash:
		it.pending.scanned, it.pending.warnings = true, warnings
		it.mentions = named
	default:
		return
	}
	b.changedServers[j.server] = true
	if j.fresh {
		for _, w := range warnings {
			b.recordWarning(s, j.key, w, j.hash)
		}
	}
}

// recordWarning records a warning as an event, once per definition. The caller must hold b.mu.
func (b *Baseline) recordWarning(s *serverRecords, k itemKey, w Warning, h Hash) {
	if w.Code == SameName {
		return
	}
	id := strings.Join([]string{s.id, k.kind, k.name, w.Code, w.Reason, h.String()}, "\x00")
	if b.recordedWarnings[id] {
		return
	}
	if len(b.recordedWarnings) > 20_000 {
		clear(b.recordedWarnings)
	}
	b.recordedWarnings[id] = true
	b.appendEvent(s, store.TrustEvent{At: b.opts.Now(), Server: s.id, Kind: k.kind, Name: k.name, Action: EventWarned, Detail: w.Reason + " " + w.Quote, NewHash: slices.Clone(h[:])})
}

// updateShadowing updates the warnings about definitions that mention tools of other servers or
// share a name with them. The caller must hold b.mu.
func (b *Baseline) updateShadowing(fresh map[string]bool) {
	holders := map[string][]*serverRecords{}
	for _, id := range sortedKeys(b.servers) {
		s := b.servers[id]
		if !s.configured {
			continue
		}
		for k, it := range s.items {
			if k.kind == Tool && it.present {
				holders[k.name] = append(holders[k.name], s)
			}
		}
	}
	for _, s := range b.servers {
		if !s.configured {
			continue
		}
		for k, it := range s.items {
			if !it.present {
				continue
			}
			found := b.shadowWarnings(s, k, it, holders)
			if slices.Equal(found, it.shadows) {
				continue
			}
			it.shadows = found
			b.changedServers[s.id] = true
			for _, w := range found {
				if fresh[s.id] {
					b.recordWarning(s, k, w, it.hash)
				}
			}
		}
	}
}

// shadowWarnings returns the warnings about one definition that depend on the tools of other servers.
// holders maps a tool name to the servers that list it.
func (b *Baseline) shadowWarnings(s *serverRecords, k itemKey, it *record, holders map[string][]*serverRecords) (found []Warning) {
	for _, name := range it.mentions {
		tool := name
		if _, own := s.items[itemKey{Tool, tool}]; own {
			continue
		}
		if _, rest, prefixed := strings.Cut(name, "__"); prefixed {
			if _, own := s.items[itemKey{Tool, rest}]; own {
				continue
			}
			if len(holders[tool]) == 0 {
				tool = rest
			}
		}
		for _, other := range holders[tool] {
			if other != s && len(found) < maxWarnings {
				found = append(found, shadowingWarning(tool, other.id))
				break
			}
		}
	}
	if k.kind == Tool {
		for _, other := range holders[k.name] {
			if other != s && len(found) < maxWarnings {
				found = append(found, sameNameWarning(other.id))
				break
			}
		}
	}
	return found
}

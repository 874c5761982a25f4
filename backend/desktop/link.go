package desktop

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Scheme is the URL scheme of our links.
const Scheme = "drawbridge"

// maxLink is the maximum length of a link in bytes. Browsers and systems rarely support much
// more.
const maxLink = 16 << 10

// Compiled on first use, because it takes 2.5 MB and the shim is the same program.
var linkName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$`)
})

// ResolveLink returns the path of the page that a link opens, such as
// "/add?name=files&config=%7B…%7D&from=link". A link only displays something: its parameters
// fill in a form, and nothing is run or stored until the user confirms.
//
//	drawbridge://                             the overview
//	drawbridge://open/servers/files           a page of the UI
//	drawbridge://add?name=files&config=JSON   a server to add; JSON is an entry of mcpServers
//
// Any program and any web page can open a link, so every other form is a validation error.
func ResolveLink(link string) (string, error) {
	invalid := func(what string) (string, error) {
		return "", &core.Error{
			Code: core.CodeValidation, Message: "the link is not valid: " + what,
			Hint:   "Links look like drawbridge://add?name=NAME&config=JSON and drawbridge://open/servers.",
			Fields: []core.FieldError{{Field: "link", Error: what}},
		}
	}
	if len(link) > maxLink {
		return invalid("it is longer than 16 KiB")
	}
	u, err := url.Parse(link)
	if err != nil || !strings.EqualFold(u.Scheme, Scheme) || u.Opaque != "" || u.User != nil || u.Port() != "" {
		return invalid("it does not begin with drawbridge://")
	}
	switch strings.ToLower(u.Host) {
	case "":
		return "/", nil
	case "open":
		return resolvePage(u.Path, invalid)
	case "add":
		if u.Path != "" && u.Path != "/" {
			return invalid("it has a path after add")
		}
		return resolveAdd(u, invalid)
	}
	return invalid("its action is not supported")
}

// linkPages are the pages that a link may open.
var linkPages = []string{"servers", "add", "calls", "tools", "clients", "approvals", "settings", "configuration", "usage", "profiles", "directory", "sessions", "welcome"}

func resolvePage(p string, invalid func(string) (string, error)) (string, error) {
	clean := path.Clean("/" + p)
	first, rest, _ := strings.Cut(clean[1:], "/")
	switch {
	case clean == "/":
		return clean, nil
	case !slices.Contains(linkPages, first), !utf8.ValidString(clean), strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' || strings.ContainsRune(`?#\/`, r) }):
		return invalid("there is no such page")
	}
	return (&url.URL{Path: clean}).EscapedPath(), nil
}

func resolveAdd(u *url.URL, invalid func(string) (string, error)) (string, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return invalid("its parameters are not valid")
	}
	name, config := query.Get("name"), query.Get("config")
	if name != "" && !linkName().MatchString(name) {
		return invalid("the name is not a valid server name")
	}
	var entry map[string]json.RawMessage
	if json.Unmarshal([]byte(config), &entry) != nil || entry == nil {
		return invalid("config is not a JSON object")
	}
	return "/add?" + url.Values{"name": {name}, "config": {config}, "from": {"link"}}.Encode(), nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/pflag"
)

var outcomes = []core.Outcome{core.OutcomeOK, core.OutcomeToolError, core.OutcomeProtocolError, core.OutcomeTimeout, core.OutcomeCancelled, core.OutcomeRejected, "working", "input_required", core.TaskExpired}

// callFilter holds the filters of commands on calls; they equal those of the API.
type callFilter struct {
	server, client, tool, outcome, text string
	session, workspace, tag, from, to   string
	version, account                    string
	least, most                         time.Duration
}

func (c *callFilter) flags(f *pflag.FlagSet) {
	f.StringVar(&c.server, "server", "", "only calls to this `SERVER`")
	f.StringVar(&c.client, "client", "", "only calls from this `CLIENT`")
	f.StringVar(&c.tool, "tool", "", "only calls to this `TOOL`")
	f.StringVar(&c.outcome, "outcome", "", "only calls with this `OUTCOME`: ok, tool_error, protocol_error, timeout, cancelled, rejected; or working, input_required, expired for a task that has not ended")
	f.StringVar(&c.text, "search", "", "only calls that contain these `WORDS`")
	f.StringVar(&c.session, "session", "", "only calls in this `SESSION`, or last for the newest one")
	f.StringVar(&c.workspace, "workspace", "", "only calls from clients that worked in this `FOLDER`")
	f.StringVar(&c.account, "account", "", "only calls that used this `ACCOUNT` of a server")
	f.StringVar(&c.tag, "tag", "", "only calls with this `TAG`")
	f.StringVar(&c.version, "server-version", "", "only calls with a response from this `VERSION` of a server: the version that the server reports, the version of its package, or the first 8 or more characters of a definition hash")
	f.StringVar(&c.from, "from", "", "only calls since this `TIME`: 2026-01-31, 2026-01-31T10:00:00Z, or 2h for the last two hours")
	f.StringVar(&c.to, "to", "", "only calls before this `TIME`, in the format of --from")
	f.DurationVar(&c.least, "min-took", 0, "only calls that took at least this `DURATION`, such as 500ms")
	f.DurationVar(&c.most, "max-took", 0, "only calls that took at most this `DURATION`")
}

// filterToken matches NAME:VALUE and NAME:"VALUE".
var filterToken = regexp.MustCompile(`(^|\s)([a-z]+):("[^"]*"|[^\s"]+)`)

// parse adds the filters of a text in the filter syntax of the Calls page; see history. The
// remaining text is searched for.
func (c *callFilter) parse(text string) error {
	var wrong error
	text = filterToken.ReplaceAllStringFunc(text, func(token string) string {
		name, value, _ := strings.Cut(strings.TrimSpace(token), ":")
		value = strings.Trim(value, `"`)
		into := map[string]*string{"server": &c.server, "tool": &c.tool, "client": &c.client, "session": &c.session, "folder": &c.workspace, "account": &c.account, "tag": &c.tag, "version": &c.version, "outcome": &c.outcome}[name]
		switch {
		case name == "outcome" && value == "error":
			c.outcome = string(core.OutcomeToolError)
		case into != nil:
			*into = value
		case name == "took" && (strings.HasPrefix(value, ">") || strings.HasPrefix(value, "<")):
			took, err := time.ParseDuration(value[1:])
			if err != nil {
				wrong = usageError{fmt.Errorf("%q is not a duration such as took:>500ms", token)}
			} else if value[0] == '>' {
				c.least = took
			} else {
				c.most = took
			}
		default:
			return token // a word such as https:
		}
		return " "
	})
	if text = strings.TrimSpace(text); text != "" {
		c.text = strings.TrimSpace(c.text + " " + text)
	}
	return wrong
}

func (c *callFilter) query() (url.Values, error) {
	if c.outcome != "" && !slices.Contains(outcomes, core.Outcome(c.outcome)) {
		return nil, usageError{fmt.Errorf("--outcome must be one of %v", outcomes)}
	}
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	for key, value := range map[string]string{"server": c.server, "client": c.client, "tool": c.tool, "outcome": c.outcome, "q": c.text, "session": c.session, "workspace": c.workspace, "account": c.account, "tag": c.tag, "version": c.version} {
		set(key, value)
	}
	for key, value := range map[string]string{"from": c.from, "to": c.to} {
		at, err := parseTime(value, time.Now())
		if err != nil {
			return nil, usageError{fmt.Errorf("--%s: %w", key, err)}
		}
		set(key, at)
	}
	for key, value := range map[string]time.Duration{"minTookNs": c.least, "maxTookNs": c.most} {
		if value < 0 {
			return nil, usageError{fmt.Errorf("a duration must not be negative")}
		}
		if value > 0 {
			set(key, strconv.FormatInt(int64(value), 10))
		}
	}
	return query, nil
}

// lastSession is the value of --session that stands for the newest session.
const lastSession = "last"

// resolveSession replaces lastSession by the id of the newest recorded session, in which server was
// called if it is not "".
func (d *daemon) resolveSession(ctx context.Context, session *string, server string) error {
	if *session != lastSession {
		return nil
	}
	list, err := get[api.List[api.Session]](ctx, d, "sessions", url.Values{"limit": {"200"}})
	if err != nil {
		return err
	}
	for _, s := range list.Items {
		if server == "" || slices.Contains(s.Servers, server) {
			*session = s.Session
			return nil
		}
	}
	return errors.New("no session is recorded yet: cannot find the last one. List the calls: drawbridge history")
}

// query returns the query for the calls that filter selects.
func (p *program) query(ctx context.Context, filter callFilter) (url.Values, error) {
	if filter.session == lastSession {
		d, err := p.daemon()
		if err == nil {
			err = d.resolveSession(ctx, &filter.session, filter.server)
		}
		if err != nil {
			return nil, err
		}
	}
	return filter.query()
}

// parseTime parses a point in time in common formats; "" stays "".
func parseTime(text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC().Format(time.RFC3339Nano), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UTC().Format(time.RFC3339Nano), nil
		}
	}
	return "", fmt.Errorf("%q is not a time such as 2026-01-31, 2026-01-31T10:00:00Z or 2h", text)
}

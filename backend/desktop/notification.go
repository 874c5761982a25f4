package desktop

import (
	"context"
	"encoding/xml"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Notification is one message to the user. All texts are plain text; a Notifier escapes what
// its system would interpret as markup.
type Notification struct {
	// Subject identifies what the notification is about, such as "server/files". A newer
	// notification replaces an older one with the same subject.
	Subject  string
	Title    string
	Text     string
	Urgent   bool
	PagePath string // path of the page that a click opens, such as "/servers/files"
	Buttons  []Button
}

// Button is a button of a notification, on systems that support them.
type Button struct {
	Label string
	// Key is reported when the user presses it. It must identify what the button acts on, because a
	// press may arrive after the notification was replaced.
	Key string
}

// Click is a click on a notification: on one of its buttons, or, if Key is "", on the rest of it.
type Click struct {
	Notification Notification
	Key          string
}

// Notifier shows notifications. Its methods must be called from one goroutine.
type Notifier interface {
	// Show shows n, replacing the notification with the same subject.
	Show(ctx context.Context, n Notification) error
	// Withdraw removes the notification with this subject, if the system supports that.
	Withdraw(ctx context.Context, subject string)
	// Clicked returns a channel with the user's clicks. It is nil if the system does not report
	// them.
	Clicked() <-chan Click
	Close()
}

// NotificationState is a snapshot of the state that the watched events describe.
type NotificationState struct {
	Servers   []core.ServerStatus
	Approvals []approvals.Item  // pending ones
	Commands  map[string]string // messages about changed commands, by server
}

// reconcile reconciles the notifications with a snapshot: it withdraws what no longer applies
// and shows what is new.
func (r *watchRun) reconcile(ctx context.Context, now NotificationState) {
	servers, pending := map[string]bool{}, map[string]bool{}
	for _, s := range now.Servers {
		servers[s.ID] = true
	}
	for id := range r.states {
		if !servers[id] {
			r.forgetServer(ctx, id)
		}
	}
	for _, s := range now.Servers {
		r.updateServer(ctx, s)
	}
	for _, q := range now.Approvals {
		pending[q.ID] = true
	}
	for id, q := range r.waiting {
		if !pending[id] {
			q.State = "withdrawn" // or answered: in both cases it is no longer pending
			r.updateApprovalNotification(ctx, q)
		}
	}
	for _, q := range now.Approvals {
		if _, known := r.waiting[q.ID]; !known {
			r.updateApprovalNotification(ctx, q)
		}
	}
	for id := range r.commands {
		if now.Commands[id] == "" {
			r.updateCommand(ctx, id, "")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.Commands)) {
		if r.commands[id] != now.Commands[id] {
			r.updateCommand(ctx, id, now.Commands[id])
		}
	}
}

// toast is a notification in the XML format of Windows.
type toast struct {
	XMLName    xml.Name `xml:"toast"`
	Activation string   `xml:"activationType,attr"`
	Launch     string   `xml:"launch,attr"` // reported for a click that is not on a button
	Binding    struct {
		Template string   `xml:"template,attr"`
		Texts    []string `xml:"text"`
	} `xml:"visual>binding"`
	Actions []toastAction `xml:"actions>action"`
	Audio   struct {
		Silent bool `xml:"silent,attr"`
	} `xml:"audio"`
}

type toastAction struct {
	Activation string `xml:"activationType,attr"`
	Content    string `xml:"content,attr"`
	Arguments  string `xml:"arguments,attr"` // reported for a click on the button
}

// toastXML returns the XML text of a notification. Texts of servers and models are escaped.
func toastXML(n Notification) (string, error) {
	t := toast{Activation: "foreground", Launch: toastArguments(n.PagePath, "")}
	t.Binding.Template = "ToastGeneric"
	t.Binding.Texts = []string{n.Title, n.Text}
	t.Audio.Silent = true
	for _, b := range n.Buttons {
		t.Actions = append(t.Actions, toastAction{"foreground", b.Label, toastArguments(n.PagePath, b.Key)})
	}
	text, err := xml.Marshal(t)
	return string(text), err
}

func toastArguments(to, key string) string { return url.Values{"to": {to}, "key": {key}}.Encode() }

func toastClick(arguments string) (Click, bool) {
	v, err := url.ParseQuery(arguments)
	if err != nil || !v.Has("key") {
		return Click{}, false
	}
	return Click{Notification{PagePath: v.Get("to")}, v.Get("key")}, true
}

// SingleLine formats untrusted text for a menu or a notification: one line, without control or
// direction characters, at most so many characters.
func SingleLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r // joiners between letters, as in Persian and in family emoji
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return core.OneLine(text, most)
}

// LeftToRight prefixes text that contains right-to-left letters with a left-to-right mark.
// Without it, a sentence of ours that begins with such a name would be laid out right to
// left.
func LeftToRight(text string) string {
	for _, r := range text {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return "\u200e" + text
		}
	}
	return text
}

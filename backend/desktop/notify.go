package desktop

import "context"

// Notification is one message to the user. All texts are plain; a Notifier takes care
// of what its system would read as markup.
type Notification struct {
	// Subject names what it is about, such as "server/files": a newer one of the same
	// subject takes its place on the screen.
	Subject string
	Title   string
	Text    string
	Urgent  bool
	To      string // the place of the page that a click leads to, such as "/servers/files"
}

// Notifier shows notifications. Its methods belong to one goroutine.
type Notifier interface {
	// Show shows n or replaces what is shown of its subject.
	Show(ctx context.Context, n Notification) error
	// Withdraw takes back what is shown of a subject, where the system can do that.
	Withdraw(ctx context.Context, subject string)
	// Clicked receives the notifications that were clicked on. It may be nil where the
	// system tells nobody.
	Clicked() <-chan Notification
	Close()
}

package desktop

import "context"

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

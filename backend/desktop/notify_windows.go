package desktop

import (
	"context"
	"fmt"

	"git.sr.ht/~jackmordaunt/go-toast/v2/wintoast"
)

// Windows shows the id as the name of the sender, and reports clicks to the activator, a COM class of
// this process. The installer deletes their registry keys.
const (
	toastSender    = "Drawbridge"
	toastActivator = "{5C9D0F5E-8B3F-4E0B-9C57-6B0E2F1D7A41}"
)

// toastNotifier shows toasts through the Windows Runtime. It does not use PowerShell if that fails,
// because a script would evaluate the texts.
type toastNotifier struct{ clicked chan Click }

// NewNotifier registers Drawbridge as a sender of notifications for this user.
func NewNotifier(context.Context) (Notifier, error) {
	if err := wintoast.SetAppData(wintoast.AppData{AppID: toastSender, GUID: toastActivator}); err != nil {
		return nil, fmt.Errorf("cannot show notifications: %w", err)
	}
	f := toastNotifier{make(chan Click, 8)}
	wintoast.SetActivationCallback(func(_, arguments string, _ []wintoast.UserData) {
		c, ok := toastClick(arguments)
		if !ok {
			return
		}
		select {
		case f.clicked <- c:
		default: // drop clicks that nobody receives
		}
	})
	return f, nil
}

func (toastNotifier) Show(_ context.Context, n Notification) error {
	text, err := toastXML(n)
	if err == nil {
		err = wintoast.Push(toastSender, text)
	}
	if err != nil {
		return fmt.Errorf("cannot show a notification: %w", err)
	}
	return nil
}

func (toastNotifier) Withdraw(context.Context, string) {}
func (f toastNotifier) Clicked() <-chan Click          { return f.clicked }
func (toastNotifier) Close()                           {}

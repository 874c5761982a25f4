//go:build !linux

package desktop

import (
	"context"
	"fmt"

	"github.com/gen2brain/beeep"
)

// textNotifier shows notifications as text only. The system does not report clicks, so pending
// approvals are also listed in the tray menu.
type textNotifier struct{}

// NewNotifier returns the notifier of this system.
func NewNotifier(context.Context) (Notifier, error) {
	beeep.AppName = "Drawbridge"
	return textNotifier{}, nil
}

func (textNotifier) Show(_ context.Context, n Notification) error {
	if err := beeep.Notify(n.Title, n.Text, ""); err != nil {
		return fmt.Errorf("cannot show a notification: %w", err)
	}
	return nil
}

func (textNotifier) Withdraw(context.Context, string) {}
func (textNotifier) Clicked() <-chan Click            { return nil }
func (textNotifier) Close()                           {}

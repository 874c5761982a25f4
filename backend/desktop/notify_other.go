//go:build !linux

package desktop

import (
	"context"
	"fmt"

	"github.com/gen2brain/beeep"
)

// plain shows notifications as text only. The system does not report clicks, so pending
// approvals are also listed in the tray menu.
type plain struct{}

// NewNotifier returns the notifier of this system.
func NewNotifier(context.Context) (Notifier, error) {
	beeep.AppName = "Drawbridge"
	return plain{}, nil
}

func (plain) Show(_ context.Context, n Notification) error {
	if err := beeep.Notify(n.Title, n.Text, ""); err != nil {
		return fmt.Errorf("cannot show a notification: %w", err)
	}
	return nil
}

func (plain) Withdraw(context.Context, string) {}
func (plain) Clicked() <-chan Notification     { return nil }
func (plain) Close()                           {}

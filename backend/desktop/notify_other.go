//go:build !linux

package desktop

import (
	"context"
	"fmt"

	"github.com/gen2brain/beeep"
)

// plain shows texts alone: who was clicked on is not told, so what waits also stands in
// the tray's menu.
type plain struct{}

// NewNotifier returns what this system has for notifications.
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

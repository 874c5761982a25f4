//go:build !linux && !windows

package desktop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// osascriptNotifier shows notifications as text only. macOS reports clicks and buttons only to
// signed applications, so approvals are answered in the tray menu.
type osascriptNotifier struct{ program string }

// NewNotifier returns the notifier of macOS. It returns an error on other systems.
func NewNotifier(context.Context) (Notifier, error) {
	program, err := exec.LookPath("osascript")
	if err != nil {
		return nil, errors.New("cannot show notifications on this system")
	}
	return osascriptNotifier{program}, nil
}

// Show passes the texts as arguments, so that they are not part of the script.
func (f osascriptNotifier) Show(ctx context.Context, n Notification) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := osutil.HideConsole(exec.CommandContext(ctx, f.program, "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", n.Title, n.Text))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot show a notification: %w", err)
	}
	return nil
}

func (osascriptNotifier) Withdraw(context.Context, string) {}
func (osascriptNotifier) Clicked() <-chan Click            { return nil }
func (osascriptNotifier) Close()                           {}

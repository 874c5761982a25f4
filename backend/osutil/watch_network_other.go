//go:build !linux

package osutil

import (
	"context"
	"errors"
)

// subscribe is not supported, so the addresses are polled.
func subscribe(context.Context, chan<- struct{}) error {
	return errors.ErrUnsupported
}

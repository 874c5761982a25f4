//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

func landlockABIVersion() int { return 0 }

func filtersSockets() bool { return false }

func newRuleset(int, Rules) (*os.File, error) { return nil, errors.New("sandboxes require Linux") }

func seccompFilter(Rules) string { return "" }

const selfPath = ""

//go:build !linux

package sandbox

import "errors"

func landlockABIVersion() int { return 0 }

func filtersSockets() bool { return false }

func restrict(Rules) error { return errors.New("sandboxes require Linux") }

const selfPath = ""

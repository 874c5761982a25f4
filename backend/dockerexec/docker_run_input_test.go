package dockerexec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRunWithoutInputIsRecognized(t *testing.T) {
	for args, want := range map[string]bool{
		"run --rm img": true, "run -t img -i": true, "run -e A=i img": true, "run -ei img x": true, "container run img": true, "run --interactive=false img": true,
		"run -i img": false, "run --rm -it img": false, "run -ti -e A img": false, "run --interactive img": false, "-H x run -i=true img": false,
		"exec box x": false, "": false, "run": true, "run -e": true,
	} {
		assert.Equalf(t, want, RunsWithoutInput(strings.Fields(args)), "%q", args)
	}
}

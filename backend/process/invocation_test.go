package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInvocationOfProcessHasItsProgramArgumentsAndEnvironment(t *testing.T) {
	inv, err := InvocationOf(os.Getpid())
	require.NoError(t, err)
	assert.Equal(t, os.Args, inv.Args)
	self, _ := os.Executable()
	was, _ := os.Stat(self)
	is, err := os.Stat(inv.Path)
	assert.Truef(t, err == nil && os.SameFile(was, is), "program %q, want %q", inv.Path, self)
	want := "PATH=" + os.Getenv("PATH")
	assert.Contains(t, inv.Env, want)
}

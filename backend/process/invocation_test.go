package process

import (
	"os"
	"slices"
	"testing"
)

func TestInvocationOfProcessHasItsProgramArgumentsAndEnvironment(t *testing.T) {
	inv, err := InvocationOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(inv.Args, os.Args) {
		t.Errorf("arguments %q, want %q", inv.Args, os.Args)
	}
	self, _ := os.Executable()
	was, _ := os.Stat(self)
	is, err := os.Stat(inv.Path)
	if err != nil || !os.SameFile(was, is) {
		t.Errorf("program %q, want %q", inv.Path, self)
	}
	if want := "PATH=" + os.Getenv("PATH"); !slices.Contains(inv.Env, want) {
		t.Errorf("%q is not in the environment %q", want, inv.Env)
	}
}

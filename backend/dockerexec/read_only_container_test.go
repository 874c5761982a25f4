package dockerexec

import (
	"slices"
	"testing"
)

func TestReadOnlyContainerHasTemporaryFolderAndNoNewPrivileges(t *testing.T) {
	host := (&Container{spec: ContainerSpec{Ref: "x", ReadOnly: true}}).options().HostConfig
	if _, tmp := host.Tmpfs["/tmp"]; !host.ReadonlyRootfs || !tmp || !slices.Contains(host.SecurityOpt, "no-new-privileges") {
		t.Errorf("%+v", host)
	}
	if host = (&Container{spec: ContainerSpec{Ref: "x"}}).options().HostConfig; host.ReadonlyRootfs || len(host.Tmpfs)+len(host.SecurityOpt) != 0 {
		t.Errorf("without it: %+v", host)
	}
}

package dockerexec

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReadOnlyContainerHasTemporaryFolderAndNoNewPrivileges(t *testing.T) {
	host := (&Container{spec: ContainerSpec{Ref: "x", ReadOnly: true}}).options().HostConfig
	_, tmp := host.Tmpfs["/tmp"]
	assert.Truef(t, host.ReadonlyRootfs && tmp && slices.Contains(host.SecurityOpt, "no-new-privileges"), "%+v", host)
	if host = (&Container{spec: ContainerSpec{Ref: "x"}}).options().HostConfig; host.ReadonlyRootfs || len(host.Tmpfs)+len(host.SecurityOpt) != 0 {
		t.Errorf("without it: %+v", host)
	}
}

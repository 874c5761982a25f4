// Package dockerexec runs MCP servers in Docker containers: by exec in a running container, in a
// container made from an image, or by a docker run command of the user.
//
// [Exec] and [Container] offer the same pipes and the same stop sequence as a child process, so
// that the supervisor treats them alike. Ledgers in the data folder name every process and
// container that was started; [EndOrphans] ends those of a killed daemon at the next start. The Engine
// is found as the docker command finds it. Containers that Drawbridge did not create are never
// removed.
package dockerexec

// Package observe observes where the processes of servers connect to. On Linux it samples the
// socket tables of the kernel (/proc/net/tcp and others) and finds the owner of each new socket in
// the process trees of the servers. It needs no privileges. Connections that begin and end between
// two samples are missed, and the number of bytes is not known.
package observe

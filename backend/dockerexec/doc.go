// Package dockerexec runs one process inside a container: in one that is there, as
// `docker exec -i` does (Start), or in one made for it from an image, as `docker run -i
// --rm` does (Create); and it ends it again.
//
// Closing the connection of an exec leaves its process running for ever, and the
// Engine has no call that ends it. So a small shell wrapper reports the process id
// inside, and Stop signals it through a second exec: the group (runc makes the
// process the leader of one) and everything inside that carries our mark. An image
// without a shell can only be asked by closing stdin, or from the host where we
// may.
//
// Whether the process has ended is what the Engine says of the exec, never the
// end of its output: a grandchild may hold that for ever.
package dockerexec

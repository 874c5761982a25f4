// Package netchange reports that the machine woke up or that its network changed, so that remote
// servers are retried immediately instead of after their backoff.
//
// On Linux the kernel reports changes; elsewhere the addresses are polled. Bursts of changes are
// reported once.
package netchange

// Package metrics counts calls and states, serves them in the Prometheus text format, and exports
// them with traces over OTLP if a receiver is configured.
//
// It observes the event bus and is never on the call path. The number of label values is bounded:
// servers are configured, outcomes and states are fixed sets, tools are limited, and clients are
// not used as labels.
package metrics

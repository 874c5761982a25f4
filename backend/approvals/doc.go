// Package approvals holds what waits for the user: calls that need permission, and elicitation
// requests that the client of the call cannot show.
//
// [Inbox.Ask] adds an item and blocks until it is answered, its context ends or its deadline
// passes; without an answer the item is declined. Both the arrival and the removal of an item are
// published on the event bus. The number of items is bounded.
package approvals

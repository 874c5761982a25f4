// Package trust remembers what each server's tools said when they were first seen, and
// notices when they say something else.
//
// A tool is trusted on first sight. From then on its definition is compared with the one
// that was trusted; one that differs waits for the user, and is withheld from clients
// until then. Records outlive restarts, crashes and empty lists.
//
// Beside that, definitions are read for signs of an attack: text that people cannot see,
// orders to read files, to use other tools or to hide something from the user. These are
// warnings with a reason; they withhold nothing.
package trust

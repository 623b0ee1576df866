// Package console runs the commands of the operator console.
package console

import (
	"errors"
	"strings"
)

// Handler runs a command with its arguments.
type Handler func(args []string) (string, error)

// Wrapper puts something around a handler, for example a permission check.
type Wrapper func(Handler) Handler

// ErrUnknown is returned for lines that are no command.
var ErrUnknown = errors.New("console: unknown command")

// Console holds the commands. Register everything before the first Run.
type Console struct {
	wrappers []Wrapper
	commands map[string]Handler
}

// New returns a console without commands.
func New() *Console {
	return &Console{commands: make(map[string]Handler)}
}

// Use adds a wrapper for the commands that are registered after it. The
// first wrapper is the outermost.
func (c *Console) Use(w Wrapper) {
	c.wrappers = append(c.wrappers, w)
}

// Register adds a command.
func (c *Console) Register(name string, h Handler) {
	for i := len(c.wrappers) - 1; i >= 0; i-- {
		h = c.wrappers[i](h)
	}
	c.commands[name] = h
}

// Run executes a line.
func (c *Console) Run(line string) (string, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "", ErrUnknown
	}
	h, ok := c.commands[fields[0]]
	if !ok {
		return "", ErrUnknown
	}
	return h(fields[1:])
}

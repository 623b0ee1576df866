package console

import (
	"strings"
	"testing"
)

func tag(name string) Wrapper {
	return func(next Handler) Handler {
		return func(args []string) (string, error) {
			out, err := next(args)
			return name + "(" + out + ")", err
		}
	}
}

func echo(args []string) (string, error) {
	return strings.Join(args, " "), nil
}

func TestGroupsDoNotShareWrappers(t *testing.T) {
	root := New()
	for _, name := range []string{"a", "b", "c"} {
		root.Use(tag(name))
	}
	crane := root.Group("crane", tag("crane"))
	gate := root.Group("gate", tag("gate"))
	plain := root.Group("plain")
	plain.Use(tag("plain"))
	root.Use(tag("late"))

	crane.Register("up", echo)
	gate.Register("open", echo)
	gate.Group("lock", tag("lock")).Register("set", echo)
	plain.Register("say", echo)
	root.Register("say", echo)

	for line, want := range map[string]string{
		"crane.up 3":      "a(b(c(crane(3))))",
		"gate.open north": "a(b(c(gate(north))))",
		"gate.lock.set 1": "a(b(c(gate(lock(1)))))",
		"plain.say hi":    "a(b(c(plain(hi))))",
		"say hi":          "a(b(c(late(hi))))",
	} {
		got, err := root.Run(line)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", line, got, err, want)
		}
	}
}

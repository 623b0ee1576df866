package console

import (
	"errors"
	"log"
)

// ErrArguments is returned for a wrong number of arguments.
var ErrArguments = errors.New("console: wrong number of arguments")

// Logged logs the errors of commands.
func Logged(logger *log.Logger) Wrapper {
	return func(next Handler) Handler {
		return func(args []string) (string, error) {
			out, err := next(args)
			if err != nil {
				logger.Printf("console: %v", err)
			}
			return out, err
		}
	}
}

// Arguments refuses calls with another number of arguments.
func Arguments(n int) Wrapper {
	return func(next Handler) Handler {
		return func(args []string) (string, error) {
			if len(args) != n {
				return "", ErrArguments
			}
			return next(args)
		}
	}
}

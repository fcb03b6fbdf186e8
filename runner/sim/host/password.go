package host

import (
	"fmt"
	"io"
)

// CheckPassword reads passwords, one a line, as sudo -S does: three tries.
func CheckPassword(in io.Reader, errs io.Writer, prompt, password string) bool {
	// passwd_tries in sudoers is 3 by default.
	for try := 1; ; try++ {
		io.WriteString(errs, prompt)
		line, err := readLine(in)
		if line == password {
			return true
		}
		if err != nil {
			fmt.Fprintln(errs)
			if try == 1 {
				fmt.Fprintln(errs, "sudo: no password was provided")
			} else {
				fmt.Fprintf(errs, "sudo: no password was provided\nsudo: %s\n", attempts(try-1))
			}
			return false
		}
		if try == 3 {
			fmt.Fprintf(errs, "sudo: %s\n", attempts(3))
			return false
		}
		fmt.Fprintln(errs, "Sorry, try again.")
	}
}

func attempts(n int) string {
	if n == 1 {
		return "1 incorrect password attempt"
	}
	return fmt.Sprintf("%d incorrect password attempts", n)
}

// readLine reads one line, a byte at a time: what follows belongs to another reader.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err != nil {
			return string(line), err
		}
	}
}

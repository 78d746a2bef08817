;;; story.el --- Plays wharf.el against three servers  -*- lexical-binding: t; -*-

;;; Commentary:

;; It has no person and no screen, and writes what it sees.  A test of Wharf compares that with what the
;; other editors see:
;;
;;   emacs -Q --batch -L . -l story.el <story.txt
;;
;; The minibuffer of a batch reads stdin: story.txt has what a person would type.  KILLED names the file
;; with the process id of the server everything, SEEN the file that it writes.

;;; Code:

(require 'wharf)
(require 'seq)

(defvar story-events nil "Events that have come, the newest first.")
(add-hook 'wharf-event-functions (lambda (event) (push event story-events)))

(defun story-say (format &rest values)
  "Write VALUES as FORMAT says, on a line."
  (write-region (concat (apply #'format format values) "\n") nil (getenv "SEEN") t 'silent))

(defun story-await (what condition)
  "Wait for WHAT, which is there when CONDITION returns non-nil, and return that."
  (let ((end (+ (float-time) 60)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) end) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.05))
    value))

(defun story-text (result)
  "Return the last text of RESULT."
  (let ((content (plist-get result :content)))
    (plist-get (aref content (1- (length content))) :text)))

(defun story-states ()
  "Return the states and reasons of everything that events tell of, the newest first."
  (mapcar (lambda (event)
            (let ((state (plist-get event :state)))
              (concat (plist-get state :state) " " (plist-get state :reason))))
          (seq-filter (lambda (event)
                        (and (equal (plist-get event :kind) "server.state")
                             (equal (plist-get event :server) "everything")))
                      story-events)))

(defun story-call (server tool arguments &optional progress)
  "Call TOOL of SERVER with ARGUMENTS and PROGRESS, and wait for its result."
  (let (result failure)
    (wharf-call server tool arguments :progress progress
                :done (lambda (r) (setq result r)) :failed (lambda (e) (setq failure e)))
    (story-await tool (lambda () (or result (and failure (error "%s: %s" tool failure)))))))

(advice-add 'wharf--answer :before
            (lambda (method params)
              (when (eq method 'openUrl)
                (story-say "page: %s signs in: %s" (plist-get params :server)
                           (if (eq (plist-get params :signIn) t) "true" "false")))))

;; The browser is a program that BROWSER names, as the test has it.
(setq browse-url-browser-function #'browse-url-generic
      browse-url-generic-program (getenv "BROWSER"))

;; list
(story-say "servers: %s"
           (mapconcat (lambda (s) (concat (plist-get s :name) " " (plist-get s :state)))
                      (plist-get (wharf-request :servers/list) :servers) ", "))

;; start
(let ((started (wharf-request :servers/start :server "everything")))
  (story-say "started: %s %s" (plist-get started :name) (plist-get started :state)))

;; call with progress
(let* (steps
       (result (story-call "everything" "trigger-long-running-operation" '(:duration 0.4 :steps 2)
                           (lambda (p) (push (format "%d of %d" (plist-get p :progress) (plist-get p :total)) steps)))))
  (story-say "result: %s" (story-text result))
  (story-say "progress: %s" (string-join (reverse steps) ", ")))

;; cancel
(let* (begun failure
       (id (wharf-call "everything" "trigger-long-running-operation" '(:duration 60 :steps 600)
                       :progress (lambda (_) (setq begun t)) :failed (lambda (e) (setq failure e)))))
  (story-await "progress" (lambda () begun))
  (wharf-cancel id)
  (story-await "the end of the call" (lambda () failure))
  (story-say "cancelled: %d %s" (plist-get failure :code) (plist-get (plist-get failure :data) :kind)))

;; form
(let ((text (plist-get (aref (plist-get (story-call "everything" "trigger-elicitation-request" nil) :content) 1) :text)))
  (string-match "Name: .*" text)
  (story-say "form: %s" (match-string 0 text)))

;; sign-in
(wharf-request :auth/login :server "notes")
(story-say "signed in: %s" (story-text (story-call "notes" "whoami" nil)))

;; restart
(setq story-events nil)
(signal-process (with-temp-buffer (insert-file-contents (getenv "KILLED")) (read (current-buffer))) 'SIGKILL)
(story-say "killed: everything %s"
           (story-await "the end of the server"
                        (lambda () (car (last (remove "connected ready" (story-states)))))))
(story-await "the server" (lambda () (equal (car (story-states)) "connected ready")))
(story-say "back: %s" (story-text (story-call "everything" "echo" '(:message "again"))))

;; event
(wharf-request :resources/subscribe :server "demo" :uri "demo://clock")
(let ((event (story-await "an event" (lambda () (seq-find (lambda (e) (equal (plist-get e :kind) "resource.updated")) story-events)))))
  (story-say "event: %s of %s" (plist-get event :uri) (plist-get event :server)))

;; The next request after the end of a connection makes another.
(jsonrpc-shutdown (wharf))
(story-say "again: %d servers" (length (plist-get (wharf-request :servers/list) :servers)))

;;; story.el ends here

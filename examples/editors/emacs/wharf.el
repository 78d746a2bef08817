;;; wharf.el --- MCP servers through Wharf  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1"))

;;; Commentary:

;; A client of the control protocol of Wharf (docs/CONTROL.md) on jsonrpc.el, which Emacs has.  All
;; Emacsen of a user share one daemon and its servers, through a unix socket.

;;; Code:

(require 'cl-lib)
(require 'crm)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)

(defvar wharf-event-functions nil
  "Functions that are called with each event, a plist.")

(defvar wharf--connection nil "The newest connection.")
(defvar wharf--progress (make-hash-table) "By its token, a function that gets the progress of a call.")

(defclass wharf-connection (jsonrpc-process-connection) ()
  :documentation "A connection whose dispatcher may answer later: with a function that returns the result.")

;; The process filter of jsonrpc.el may not wait for a person, since a second message could come
;; meanwhile.  So a question is asked when the filter has ended.
(cl-defmethod jsonrpc-connection-send ((connection wharf-connection) &rest args &key id result &allow-other-keys)
  "Send a message to CONNECTION, where RESULT of the request ID may be a function."
  (if (functionp result)
      (run-with-timer 0 nil (lambda () (jsonrpc-connection-send connection :id id :result (funcall result))))
    (cl-call-next-method)))

(defun wharf--connect ()
  "Connect to the daemon, which is started if none runs."
  (let* ((socket (car (process-lines "wharf" "control" "--socket")))
         (connection
          (apply #'make-instance 'wharf-connection
                 :name "wharf"
                 :process (make-network-process :name "wharf" :family 'local :service socket
                                                :coding 'utf-8-emacs-unix :noquery t)
                 :request-dispatcher (lambda (_ method params) (lambda () (wharf--answer method params)))
                 :notification-dispatcher (lambda (_ method params) (wharf--hear method params))
                 ;; A log of all messages would have the secrets that `prompt' reads.
                 (if (version< emacs-version "30")
                     '(:events-buffer-scrollback-size 0)
                   '(:events-buffer-config (:size 0))))))
    (jsonrpc-request connection :initialize
                     `(:protocol [1 1] :client (:name "emacs" :version ,emacs-version)
                       :capabilities (:elicit t :openUrl t :prompt t :approve t :roots t)))
    (jsonrpc-request connection :events/since nil)
    connection))

(defun wharf ()
  "Return a connection to Wharf.  One that has ended is made anew."
  (unless (and wharf--connection (jsonrpc-running-p wharf--connection))
    (setq wharf--connection (wharf--connect)))
  wharf--connection)

(defun wharf-request (method &rest params)
  "Send the request METHOD with the plist PARAMS, and return its result."
  (jsonrpc-request (wharf) method params :timeout 600))

(cl-defun wharf-call (server tool arguments &key progress done failed)
  "Call TOOL of SERVER with the plist ARGUMENTS; return what `wharf-cancel' takes.
The functions PROGRESS, DONE and FAILED get how far it is, its result, its error."
  (let ((token (random most-positive-fixnum)))
    (when progress (puthash token progress wharf--progress))
    (cl-flet ((ending (f) (lambda (value)
                            (remhash token wharf--progress)
                            (when f (funcall f value)))))
      ;; `jsonrpc-async-request' does not say which id the request has.
      (car (jsonrpc--async-request-1
            (wharf) :tools/call
            `(:server ,server :name ,tool :arguments ,arguments :progress ,(and progress token))
            :timeout nil :success-fn (ending done) :error-fn (ending failed))))))

(defun wharf-cancel (id)
  "Cancel the call ID.  It ends with the error -32800, unless it has ended before."
  (jsonrpc-notify (wharf) :$/cancelRequest (list :id id)))

(defun wharf--hear (method params)
  "Take the notification METHOD with PARAMS."
  (pcase method
    ('event (run-hook-with-args 'wharf-event-functions params))
    ('$/progress (let ((f (gethash (plist-get params :token) wharf--progress)))
                   (when f (funcall f (plist-get params :value)))))))

(defun wharf--answer (method params)
  "Return what the person answers to the request METHOD with PARAMS."
  (condition-case nil
      (pcase method
        ('elicit (message "%s asks: %s" (plist-get params :server) (plist-get params :message))
                 (list :action "accept" :content (wharf--fill params)))
        ('openUrl (if (yes-or-no-p (format "%s Open %s ? " (plist-get params :message) (plist-get params :url)))
                      (progn (browse-url (plist-get params :url)) '(:action "accept"))
                    '(:action "decline")))
        ('prompt (let ((label (concat (plist-get params :label) ": ")))
                   (list :action "accept"
                         :text (if (eq (plist-get params :secret) t) (read-passwd label) (read-string label)))))
        ('approve (list :decision (completing-read (concat (string-join (plist-get params :lines) "\n") "\n")
                                                   '("not-now" "once" "always" "never") nil t nil nil "not-now")))
        ('roots `(:roots [(:uri ,(concat "file://" (expand-file-name default-directory)))])))
    (quit (if (eq method 'approve) '(:decision "not-now") '(:action "cancel")))))

(defun wharf--fill (form)
  "Ask for the fields of FORM, and return the values of those that are not empty."
  (let ((properties (plist-get (plist-get form :requestedSchema) :properties))
        (content (make-hash-table :test #'equal)))
    (seq-doseq (name (plist-get form :fields))
      (let ((value (wharf--ask name (plist-get properties (intern (concat ":" name))))))
        (unless (equal value "") (puthash name value content))))
    content))

(defun wharf--ask (name field)
  "Ask for FIELD of a form, which is called NAME."
  (let* ((prompt (concat (or (plist-get field :title) name) ": "))
         (default (plist-get field :default))
         (options (or (plist-get field :oneOf) (plist-get (plist-get field :items) :anyOf)))
         (values (or (plist-get field :enum) (plist-get (plist-get field :items) :enum)
                     (mapcar (lambda (o) (plist-get o :const)) options)))
         (texts (cl-mapcar #'cons (if options (mapcar (lambda (o) (plist-get o :title)) options) values) values)))
    (pcase (plist-get field :type)
      ("boolean" (if (y-or-n-p prompt) t :json-false))
      ((or "integer" "number") (read-number prompt default))
      ("array" (vconcat (mapcar (lambda (text) (alist-get text texts text nil #'equal))
                                (completing-read-multiple prompt texts nil nil nil nil (string-join default ",")))))
      ((guard values) (let ((text (completing-read prompt texts nil nil nil nil default)))
                        (alist-get text texts text nil #'equal)))
      (_ (read-string prompt nil nil default)))))

;;;###autoload
(defun wharf-servers ()
  "Show the servers and their states."
  (interactive)
  (seq-doseq (server (plist-get (wharf-request :servers/list) :servers))
    (message "%s %s" (plist-get server :name) (plist-get server :state))))

(provide 'wharf)
;;; wharf.el ends here

// Package vault keeps the records of auth providers on disk. They are encrypted, and shared by
// all processes of a user.
//
// # Files
//
// A vault is a folder of the user's alone. In it are
//
//	vault.json      every record: names in the clear, values sealed
//	vault.key       the key, where no keyring could be used
//	*.lock          empty files to lock; they are never removed
//	*.new           a write that is under way, or that was killed
//
// One process at a time replaces vault.json as a whole: it writes a new file beside it, syncs
// and renames the new file, and syncs the folder. So readers take no lock, and a crash leaves the old
// file or the new one. A file that is damaged, of a later version, a link, or open to others is
// an error that says what to do. Such a file is never read, repaired or written over.
//
// # The key
//
// The key is 32 random bytes. It is made with the file, and the keyring of the operating system
// holds it under the id of the file. The key goes into a file, with a warning, only if there is
// no keyring when a vault is first made. From then on vault.json says where its key is, and the
// vault looks nowhere else: a keyring that is locked or gone is an error, and no reason to begin
// again.
//
// # What is sealed
//
// Each value is sealed by XChaCha20-Poly1305 with a random nonce. Its additional
// data are the version of the format, the id of the vault, and the provider,
// issuer, resource, client, name and generation of the record. A record that was
// moved to another key, to another vault or to another generation does not open.
//
// # What this cannot do
//
// It keeps values from anyone who gets the file: by a backup, as another user, from a disk. A
// program that runs as the user can ask the keyring as this one does. An old record that is put
// back together with its generation opens, and so does the whole file of last week. The vault
// does not notice that a record was removed. The date of an entry is not authenticated. On
// Windows the folder is as private as the profile that it lies in: owners and modes are not
// checked, and folders are not synced. Locks hold on local file systems; on network file
// systems they may not.
package vault

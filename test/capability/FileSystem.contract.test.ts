import { fileSystemContract } from "../support/contracts/fileSystem.js"
import { fileSystemChangesContract } from "../support/contracts/fileSystemChanges.js"
import { diskWorld } from "../support/diskWorld.js"

fileSystemContract("the real one", diskWorld("platform"), { sweeps: false })
fileSystemChangesContract("the real one", diskWorld("platform"))
